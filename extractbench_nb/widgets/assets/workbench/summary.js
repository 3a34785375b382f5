// What is tuned, the figures that follow from it, and the config to paste into a schema.
function fact([name, value, baseline, note]) {
  const more = baseline ? `was ${baseline}` : note;
  return h("div", { class: "xb-fact" }, h("dt", { text: name }),
    h("dd", {}, h("span", { class: "xb-figure", text: value }),
      more ? h("span", { class: "xb-quiet", text: more }) : null));
}

function summaryView({ model, el }) {
  const rules = h("div", { class: "xb-title xb-value" });
  const against = h("div", { class: "xb-quiet xb-value" });
  const list = h("dl", { class: "xb-facts", "aria-live": "polite" });
  el.classList.add("xb", "xb-workbench");
  el.append(rules, against, list);
  return follow(model, ["data"], () => {
    const found = received(model);
    if (!found) return;
    rules.textContent = found.rules;
    against.textContent = `Baseline: ${found.baseline}`;
    list.replaceChildren(...found.facts.map(fact));
  });
}

export default { render: summaryView };
