// A slider over values that are not evenly apart, such as 0.001, 0.002, 0.005, 0.01.
function stopsView({ model, el }) {
  // Each widget loads a module of its own: a count in it would give all sliders of a page one id.
  const id = `xb-stops-${Math.random().toString(36).slice(2)}`;
  const input = h("input", { type: "range", id, min: 0, step: 1 });
  const shown = h("output", { class: "xb-num", for: id });
  el.classList.add("xb", "xb-slider");
  el.append(h("label", { for: id, text: model.get("label") }), input, shown);

  function write() {
    const text = model.get("texts")[Number(input.value)] ?? "";
    shown.textContent = text;
    input.setAttribute("aria-valuetext", text);
  }
  input.addEventListener("input", write);
  input.addEventListener("change", () => set(model, { at: Number(input.value) }));
  input.addEventListener("keydown", (event) => event.stopPropagation());
  return follow(model, ["at", "texts"], () => {
    input.max = Math.max(0, model.get("texts").length - 1);
    input.value = model.get("at");
    write();
  });
}

export default { render: stopsView };
