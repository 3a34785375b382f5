// One field in full: both values side by side, and what is known of it.

/** Keys that scroll a value are not JupyterLab's. */
function scrolls(event) {
  if (event.key === " " || step(event.key, 0, 1) !== null) event.stopPropagation();
}

function sideBox(name, [state, pieces, hidden]) {
  const title = state === "present" ? name : `${name} (${words(state)})`;
  return h("div", { class: "xb-side" }, h("div", { class: "xb-quiet", text: title }),
    h("div", { class: "xb-value xb-whole", dir: "auto", tabindex: "0", role: "group",
      "aria-label": `${name} value`, "data-side": name,
      keydown: scrolls }, ...segments(pieces)),
    hidden ? h("div", { class: "xb-quiet",
      text: `… ${hidden.toLocaleString("en")} more characters` }) : null);
}

function facts(pairs) {
  return h("dl", {}, ...pairs.flatMap(([name, text]) =>
    [h("dt", { class: "xb-quiet", text: name }),
      h("dd", { class: "xb-value", dir: "auto", text })]));
}

/** Scroll each value to its first difference. */
function toDifference(boxes) {
  for (const box of boxes.querySelectorAll(".xb-whole")) {
    const first = box.querySelector("mark");
    if (first) box.scrollTop = first.offsetTop - box.clientHeight / 3;
  }
}

function detailView({ model, el }) {
  let shown = null;
  const copy = copyButton("Copy field as Python", () => shown.code);
  const title = h("div", { class: "xb-title xb-value" });
  const about = h("div", { class: "xb-quiet xb-value", dir: "auto" });
  const sides = h("div", { class: "xb-sides" });
  const rest = h("div");
  const all = h("button", { type: "button", text: "Show all",
    click: () => model.send({ kind: "show_all" }) });
  const tools = h("div", { class: "xb-tools" }, all, copy.button, copy.status);
  const body = h("div", {}, about, sides, tools, copy.box, rest);
  el.classList.add("xb", "xb-detail");
  el.append(h("div", { role: "region", "aria-label": "Chosen field" }, title, body));

  return follow(model, ["data"], () => {
    const before = shown?.label;
    shown = received(model);
    body.hidden = shown === null;
    title.classList.toggle("xb-title", shown !== null);
    title.classList.toggle("xb-quiet", shown === null);
    title.textContent = shown ? shown.path : "Choose a field to see both values whole.";
    if (!shown) return;
    if (shown.label !== before) copy.reset();
    about.textContent = shown.about;
    sides.replaceChildren(sideBox("gold", shown.gold), sideBox("predicted", shown.predicted));
    requestAnimationFrame(() => toDifference(sides));
    if (document.activeElement === all && !shown.more) sides.querySelector("[tabindex]").focus();
    all.hidden = !shown.more;
    copy.button.title = shown.code.slice(0, 600);
    rest.replaceChildren(facts(shown.facts));
  });
}

export default { render: detailView };
