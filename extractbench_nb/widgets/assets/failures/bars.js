// Breakdowns of what is shown or chosen: a bar a group, with its numbers beside it.

function outcomeBar(bar, most) {
  const part = h("span", { class: `xb-part xb-${bar.counts[0][0]}` });
  part.style.width = `${100 * bar.rows / most}%`;
  return h("span", { class: "xb-bar", role: "img", "aria-label": countsText(bar.counts) }, part);
}

/** 100 % is exactly all and 0 % exactly none. */
function percentText(rate) {
  return `${Math.round(100 * Number(scoreText(rate)))} %`;
}

function barRow(by, measure, bar, most) {
  const numbers = by === "outcome" ? bar.rows.toLocaleString("en")
    : percentText(bar.rate);
  const mark = by === "outcome" ? `${MARKS[bar.title]} ` : "";
  const title = by === "outcome" ? countsText(bar.counts)
    : `${bar.title}: ${measure} ${percentText(bar.rate)}; ${bar.passed} of ${bar.rows} rows pass`;
  return h("tr", { title },
    h("th", { scope: "row" }, h("span", { dir: "auto", text: mark + bar.name })),
    h("td", {}, by === "outcome" ? outcomeBar(bar, most) : countsBar(bar.counts)),
    h("td", { class: "xb-num", text: numbers }));
}

function barTable({ by, measure, bars, more }) {
  const rows = records(bars);
  const most = Math.max(1, ...rows.map((bar) => bar.rows));
  const caption = by === "outcome" ? "By outcome: rows" : `By ${by}: ${measure}${by === "run" ? " (bars count rows)" : ""}`;
  return h("table", {}, h("caption", { text: caption }),
    h("tbody", {}, rows.map((bar) => barRow(by, measure, bar, most)),
      more ? h("tr", {}, h("td", { colspan: 3, class: "xb-quiet", text: `… ${more} more` })) : null));
}

function barsView({ model, el }) {
  const head = h("div", { class: "xb-title" });
  const tables = h("div", { class: "xb-tables" });
  el.classList.add("xb", "xb-breakdown");
  el.append(head, tables);
  return follow(model, ["data"], () => {
    const data = received(model);
    head.textContent = data.title;
    tables.replaceChildren(...(data.groups.length ? data.groups.map(barTable)
      : [h("p", { class: "xb-empty", text: "Nothing to count." })]));
  });
}

export default { render: barsView };
