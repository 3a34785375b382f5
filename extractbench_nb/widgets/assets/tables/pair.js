// The chosen cell beside the one that it was matched with.
function pairView({ model, el }) {
  el.classList.add("xb", "xb-pair");
  const region = h("div", { role: "region", "aria-label": "Chosen cell" });
  el.append(region);
  return follow(model, ["data"], () => {
    const data = received(model);
    if (!data?.title) {
      region.replaceChildren(h("div", { class: "xb-quiet", text: data?.empty ?? "" }));
      return;
    }
    const held = region.contains(document.activeElement);
    const rows = data.rows.map(([name, values]) => h("tr", { "data-fact": name },
      h("th", { scope: "row", text: name }),
      values.map((side) => h("td", { class: "xb-value", dir: "auto" }, segments(side)))));
    const table = h("table", { "aria-label": data.title, tabindex: held ? "-1" : null },
      h("thead", {}, h("tr", {}, h("td"),
        data.sides.map((text) => h("th", { scope: "col", text })))),
      h("tbody", {}, rows));
    const all = data.hidden ? h("button", { type: "button",
      text: `… show all, ${data.hidden.toLocaleString("en")} more characters`,
      click: () => model.send({ kind: "whole" }) }) : null;
    const notes = [data.note, data.others].filter(Boolean);
    region.replaceChildren(h("div", { class: "xb-title", text: data.title }), table,
      ...[all].filter(Boolean), ...notes.map((text) => h("p", { text })));
    if (held) (all ?? table).focus();
  });
}

export default { render: pairView };
