// The rows behind the chosen cells: gold and prediction side by side, those that fail first.

function valueItem(row, model) {
  const side = (name, pieces) => h("div", { class: "xb-side" },
    h("span", { class: "xb-quiet", text: name }),
    h("div", { class: "xb-value", dir: "auto" }, segments(pieces)));
  const where = [row.run, row.document, row.path].filter(Boolean);
  return h("li", {},
    h("div", { class: "xb-verdict" },
      h("span", { class: `xb-mark xb-t-${row.outcome}`, "aria-hidden": "true", text: MARKS[row.outcome] }),
      h("b", { text: words(row.outcome) }),
      h("span", { class: "xb-num", text: scoreText(row.score) }),
      h("span", { class: "xb-quiet", text: [row.metric, row.reason].filter(Boolean).join(" · ") })),
    h("div", { class: "xb-where", dir: "auto", text: where.join(" · ") }),
    h("div", { class: "xb-sides" }, side("gold", row.gold), side("predicted", row.predicted)),
    row.reasoning ? h("div", { class: "xb-value xb-quiet", dir: "auto", text: row.reasoning }) : null,
    row.whole ? null : h("button", { type: "button", text: "Show all",
      "aria-label": `Show all of ${row.path}`, "data-at": row.at,
      click: () => model.send({ kind: "whole", at: row.at }) }));
}

function valuesView({ model, el }) {
  const head = h("div", { class: "xb-title", role: "status" });
  const tools = h("div", { class: "xb-tools" });
  const hint = h("p", { class: "xb-quiet", text: "Click a cell, or press Enter on it, to see its "
    + "values: gold beside predicted. Drag, or hold Shift with the arrow keys, for several cells; "
    + "a header takes its whole line." });
  const list = h("ol", { class: "xb-rows", tabindex: "0", "aria-label": "Values of the chosen cells",
    keydown: (event) => event.stopPropagation() }); // its keys scroll it, not the notebook
  el.classList.add("xb", "xb-values");
  el.append(head, hint, tools, list);

  function turn(data, step, text, label) {
    const to = Math.floor(data.first / data.page) + step;
    return h("button", { type: "button", text, "aria-label": label,
      disabled: to < 0 || to * data.page >= data.total,
      click: () => model.send({ kind: "values", to }) });
  }
  return follow(model, ["data"], () => {
    const data = received(model);
    const held = el.contains(el.getRootNode().activeElement) ? el.getRootNode().activeElement : null;
    const last = data.first + data.rows.rows.length;
    head.textContent = data.title;
    tools.replaceChildren(...(data.total > data.page ? [
      turn(data, -1, "‹", "Previous rows"),
      h("span", { text: `rows ${data.first + 1}–${last} of ${data.total.toLocaleString("en")}` }),
      turn(data, 1, "›", "Next rows")] : []));
    list.replaceChildren(...records(data.rows).map((row) => valueItem(row, model)));
    list.hidden = !data.total;
    hint.hidden = data.chosen;
    const live = [...el.querySelectorAll("button:enabled")];
    if (held) (live.find((button) => button.ariaLabel === held.ariaLabel) ?? live[0])?.focus();
  });
}

export default { render: valuesView };
