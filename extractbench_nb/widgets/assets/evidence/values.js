// A list of values (WAI-ARIA "listbox"): arrow keys walk, Enter or a click chooses.

/** A full circle for a telling place, half a one for a place that chance would find as well. */
function findingMark(row) {
  if (row.finding === "found") return row.score < 0.5 ? "◐" : "●";
  return row.finding === "not_found" ? "○" : "·";
}

function valueRow(row, chosen) {
  const where = row.page === null ? row.label : `p. ${row.page}`;
  const option = h("div", { role: "option", tabindex: "-1", class: `xb-value-row xb-${row.finding}`,
    "data-key": row.key, "aria-selected": String(row.key === chosen),
    "aria-label": `${row.path}, ${row.text}, ${row.label}`
      + (row.page === null ? "" : ` on page ${row.page}, score ${scoreText(row.score)}`)
      + (row.outcome ? `, ${words(row.outcome)}` : "") },
  h("span", { class: "xb-mark", text: findingMark(row) }),
  h("span", { class: "xb-both" }, h("span", { class: "xb-line" },
    h("span", { class: "xb-path", text: row.path, title: row.path }),
    row.outcome ? h("span", { class: "xb-outcome", text: `${MARKS[row.outcome]} ${words(row.outcome)}` }) : null),
    h("span", { class: "xb-value xb-clamp", dir: "auto", text: row.text })),
  h("span", { class: "xb-where" }, h("span", { text: where }),
    h("span", { text: row.score === null ? "" : scoreText(row.score) })));
  return option;
}

function valuesView({ model, el }) {
  let rows = [];
  let active = 0;
  const status = h("div", { class: "xb-quiet", role: "status" });
  const list = h("div", { role: "listbox", "aria-label": "Values" });
  const back = h("button", { type: "button", text: "‹ Previous" });
  const next = h("button", { type: "button", text: "Next ›" });
  const pager = h("div", { class: "xb-pager" }, back, h("span"), next);
  el.classList.add("xb", "xb-values");
  el.append(status, list, pager);

  function draw(focus = false) {
    const data = received(model);
    if (!data) return;
    const had = list.contains(document.activeElement);
    rows = records(data.table);
    status.textContent = data.status;
    const chosen = model.get("selected");
    const at = rows.findIndex((row) => row.key === chosen);
    active = at >= 0 ? at : Math.min(active, Math.max(0, rows.length - 1));
    list.replaceChildren(...rows.map((row) => valueRow(row, chosen)));
    if (!rows.length) {
      list.append(h("div", { class: "xb-empty", role: "option", "aria-disabled": "true",
        "aria-selected": "false", text: data.empty }));
    }
    pager.hidden = data.pages < 2;
    pager.children[1].textContent = `${data.page} of ${data.pages}`;
    back.disabled = data.page <= 1;
    next.disabled = data.page >= data.pages;
    move(active, focus || had);
    if (at >= 0) list.children[at].scrollIntoView({ block: "nearest" });
  }
  function move(to, focus) {
    active = to;
    [...list.children].forEach((row, at) => { row.tabIndex = at === to ? 0 : -1; });
    if (focus) list.children[to]?.focus();
  }
  function choose(at) {
    if (!rows[at]) return;
    active = at;
    set(model, { selected: rows[at].key });
  }
  list.addEventListener("keydown", (event) => {
    const to = step(event.key, active, rows.length);
    if (to !== null) move(to, true);
    else if (event.key === "Enter" || event.key === " ") choose(active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  list.addEventListener("click", (event) => {
    const row = event.target.closest("[data-key]");
    if (row) {
      move([...list.children].indexOf(row), true);
      choose(active);
    }
  });
  const turn = (by) => () => model.send({ kind: "turn", by });
  back.addEventListener("click", turn(-1));
  next.addEventListener("click", turn(1));
  return follow(model, ["data", "selected"], () => draw());
}

export default { render: valuesView };
