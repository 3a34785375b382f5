// A slider that has a name and says its value; ipywidgets' own has no name for a screen reader.
function sliderView({ model, el }) {
  // Each widget loads a module of its own: a count in it would give all sliders of a page one id.
  const id = `xb-slider-${Math.random().toString(36).slice(2)}`;
  const input = h("input", { type: "range", id });
  const shown = h("output", { class: "xb-num", for: id });
  el.classList.add("xb", "xb-slider");
  el.append(h("label", { for: id, text: model.get("label") }), input, shown);

  function write(value) {
    const step = model.get("step");
    const digits = step >= 1 ? 0 : Math.ceil(-Math.log10(step) - 1e-9);
    shown.textContent = value.toFixed(digits);
  }
  input.addEventListener("input", () => write(Number(input.value)));
  input.addEventListener("change", () => set(model, { value: Number(input.value) }));
  input.addEventListener("keydown", (event) => event.stopPropagation());
  return follow(model, ["value", "least", "most", "step", "disabled"], () => {
    input.min = model.get("least");
    input.max = model.get("most");
    input.step = model.get("step");
    input.value = model.get("value");
    input.disabled = model.get("disabled");
    write(model.get("value"));
  });
}

export default { render: sliderView };
