// The scores of each metric; the one that is shown is marked.
function scoresView({ model, el }) {
  el.classList.add("xb", "xb-scores");
  return follow(model, ["data"], () => {
    const data = received(model);
    if (!data) return;
    const heads = data.heads.map((text) => h("th", { scope: "col", class: "xb-num", text }));
    const rows = data.rows.map(([name, about, texts, shown]) =>
      h("tr", { class: shown ? "xb-shown" : null, "data-metric": name },
        h("th", { scope: "row" }, `${name} `,
          h("span", { class: "xb-quiet", text: shown ? `${about}, shown` : about })),
        texts.map((text) => h("td", { class: "xb-num", text }))));
    el.replaceChildren(h("table", { "aria-label": "Scores" },
      h("thead", {}, h("tr", {}, h("td"), heads)), h("tbody", {}, rows)));
  });
}

export default { render: scoresView };
