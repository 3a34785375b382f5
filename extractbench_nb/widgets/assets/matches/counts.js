// Counts as evaluated, and at the thresholds that are tried.
function countsView({ model, el }) {
  const scroll = h("div", { class: "xb-scroll", role: "region", "aria-label": "Counts and scores" });
  const told = h("p", { class: "xb-quiet", role: "status" });
  el.classList.add("xb", "xb-counts");
  el.append(scroll, told);

  const sizes = new ResizeObserver(() => {
    if (scroll.scrollWidth > scroll.clientWidth) scroll.tabIndex = 0;
    else scroll.removeAttribute("tabindex");
  });
  sizes.observe(scroll);
  const stop = follow(model, ["data"], () => {
    const data = received(model);
    if (!data) return;
    const heads = data.heads.map((text) => h("th", { scope: "col", class: "xb-num", text }));
    const rows = data.rows.map(([name, texts, changed]) => h("tr", { "data-row": name },
      h("th", { scope: "row", text: name }),
      texts.map((text, i) => h("td", { class: "xb-num" },
        changed[i] ? h("mark", { class: "xb-changed", text }) : text))));
    scroll.replaceChildren(h("table", {},
      h("thead", {}, h("tr", {}, h("td"), heads)), h("tbody", {}, rows)));
    told.textContent = data.told;
  });
  return () => { sizes.disconnect(); stop(); };
}

export default { render: countsView };
