// A button that copies a text; where the page may not, the text is put into a box to copy from.

function copyButton(label, text) {
  const status = h("span", { class: "xb-quiet", role: "status" });
  const box = h("textarea", { class: "xb-code", readonly: true, rows: 2, hidden: true,
    "aria-label": `${label}: press Ctrl+C` });
  box.addEventListener("keydown", (event) => event.stopPropagation());
  async function copy() {
    try {
      await navigator.clipboard.writeText(text());
      box.hidden = true;
      status.textContent = "Copied";
    } catch {
      box.value = text();
      box.hidden = false;
      box.focus();
      box.select();
      status.textContent = "Press Ctrl+C to copy";
    }
  }
  const button = h("button", { type: "button", text: label, click: copy });
  const reset = () => { status.textContent = ""; box.hidden = true; };
  return { button, status, box, reset };
}
