// The params as they are, as an evaluation_config to paste into a schema.
function configView({ model, el }) {
  const text = h("pre", { class: "xb-config", tabindex: "0", "aria-label": "evaluation_config",
    role: "region" });
  const note = h("p", { class: "xb-quiet xb-value" });
  const status = h("span", { class: "xb-quiet", role: "status" });
  let last;

  /** Where the clipboard cannot be used, the text is marked: Ctrl+C copies it. */
  function mark() {
    window.getSelection().selectAllChildren(text);
    say("Press Ctrl+C to copy");
  }
  function say(words) {
    status.textContent = words;
    clearTimeout(last);
    last = setTimeout(() => { status.textContent = ""; }, 4000);
  }
  function copy() {
    if (!navigator.clipboard) return mark();
    return navigator.clipboard.writeText(text.textContent).then(() => say("Copied"), mark);
  }
  const button = h("button", { type: "button", text: "Copy as evaluation_config", click: copy });
  text.addEventListener("keydown", (event) => event.stopPropagation());
  button.addEventListener("keydown", (event) => event.stopPropagation());
  el.classList.add("xb", "xb-workbench");
  el.append(note, text, h("div", { class: "xb-copy" }, button, status));
  const stop = follow(model, ["data"], () => {
    const found = received(model);
    text.textContent = found?.text ?? "";
    note.textContent = found?.note ?? "";
    note.hidden = !found?.note;
    text.hidden = button.disabled = !found?.text;
  });
  return () => { clearTimeout(last); stop(); };
}

export default { render: configView };
