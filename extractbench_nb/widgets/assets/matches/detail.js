// The chosen pair key by key.
function breakable(name) {
  return name.split("_").flatMap((part, i) => (i ? ["_", h("wbr"), part] : [part]));
}

function detailView({ model, el }) {
  el.classList.add("xb", "xb-detail");
  const whole = (row, side, length) => h("button", { type: "button", "data-at": `${row.at} ${side}`,
    "aria-label": `Show all of ${row.place || "the value"}, ${side}`,
    text: `… show all ${length.toLocaleString("en")} characters`,
    click: () => model.send({ kind: "whole", at: row.at }) });
  const value = (row, side) => h("td", { class: "xb-value", dir: "auto" }, segments(row[side]),
    row.more[side] ? h("div", {}, whole(row, side, row.more[side])) : null);

  function verdict(found) {
    if (!found) return [h("td", { class: "xb-quiet", text: "not scored" }), h("td"), h("td")];
    const mark = h("span", { class: `xb-outcome xb-outcome-${found.outcome}`,
      text: `${MARKS[found.outcome] ?? ""} ${words(found.outcome)}` });
    return [h("td", {}, breakable(found.metric)), h("td", { class: "xb-num", text: scoreText(found.score) }),
      h("td", {}, mark, h("div", { class: "xb-quiet", text: words(found.reason) }),
        found.reasoning ? h("div", { class: "xb-quiet xb-value", text: found.reasoning }) : null)];
  }
  function line(row, data) {
    const bad = row.verdict && row.verdict.outcome !== "correct";
    return h("tr", { class: bad ? "xb-bad" : null },
      h("th", { scope: "row", class: "xb-value", text: row.place }),
      data.sides.map((side) => value(row, side)), data.scored ? verdict(row.verdict) : null);
  }
  function head(text) {
    return h("th", { scope: "col", class: text === "score" ? "xb-num" : null, "data-head": text, text });
  }
  return follow(model, ["data"], () => {
    const data = received(model);
    if (!data?.title) {
      el.replaceChildren(h("div", { class: "xb-empty", text: data?.empty ?? "" }));
      return;
    }
    const focused = el.contains(document.activeElement) ? document.activeElement.dataset.at : null;
    const alike = data.similarity === null ? "" : ` · similarity ${scoreText(data.similarity)}`;
    const heads = ["field", ...data.sides, ...(data.scored ? ["metric", "score", "outcome"] : [])];
    const table = h("table", { "aria-label": data.title, tabindex: "-1" },
      h("thead", {}, h("tr", {}, heads.map(head))),
      h("tbody", {}, data.rows.map((row) => line(row, data))));
    el.replaceChildren(
      h("div", { class: "xb-title" },
        h("span", { class: `xb-status xb-status-${data.status}`, text: `${MARKS[data.status]} ${data.status}` }),
        ` ${data.title}${alike}`),
      ...(data.failed.length ? [h("p", { class: "xb-value" }, `Failed: ${data.failed.join(", ")}`)] : []),
      ...(data.note ? [h("p", { text: data.note })] : []),
      table,
      h("p", { class: "xb-quiet", text: data.left_out }));
    if (focused !== null) (el.querySelector(`button[data-at="${focused}"]`) ?? table).focus();
  });
}

export default { render: detailView };
