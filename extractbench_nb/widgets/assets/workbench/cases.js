// A page of cases as a grid of rows, and the chosen case in full below it.
const SIGNS = { pass: "✓", fail: "✗", "no verdict": "?", gained: "▲", lost: "▼" };

function verdict(word, score) {
  return h("span", { class: `xb-verdict xb-${word.replace(" ", "-")}` },
    score ? h("span", { class: "xb-num", text: score }) : null,
    h("span", { text: `${SIGNS[word]} ${word}` }));
}

function heads({ titles, labelled }) {
  const names = ["Case", ...titles, "Gold", "Predicted", "Score", "Baseline", "Flip",
    ...(labelled ? ["Expected"] : [])];
  return h("tr", {}, names.map((text) => h("th", { scope: "col", text })));
}

/** A path breaks between its steps where it must. */
function stepwise(text) {
  return text.split(/(?<!^\$)(?=\.|\[')/).flatMap((part, at) => (at ? [h("wbr"), part] : [part]));
}

function cells(row, labelled) {
  const side = (found) => h("td", { class: "xb-value xb-side" }, segments(found));
  const flip = row.flip ? h("span", { class: `xb-verdict xb-${row.flip}`,
    text: `${SIGNS[row.flip]} ${row.flip}` }) : null;
  return [h("td", { class: "xb-num xb-narrow", text: String(row.case) }),
    ...row.labels.map((text) => h("td", { class: "xb-value xb-label" }, stepwise(text))),
    side(row.gold),
    h("td", { class: "xb-value xb-side" }, segments(row.predicted),
      row.error ? h("div", { class: "xb-bad", text: row.error }) : null),
    h("td", { class: "xb-narrow" }, verdict(row.verdict, row.score)),
    h("td", { class: "xb-before xb-narrow" }, verdict(row.verdict_before, row.before)),
    h("td", { class: "xb-narrow" }, flip),
    labelled ? h("td", { class: "xb-narrow" }, row.expected ? verdict(row.expected) : null) : null];
}

function detailOf(found, showAll) {
  const note = ([name, text]) => [h("dt", { text: name }), h("dd", { class: "xb-value", text })];
  const side = (name, parts) => h("div", { class: "xb-whole" }, h("b", { text: name }),
    h("div", { class: "xb-value", tabindex: "0", role: "region",
      "aria-label": `${name} of case ${found.case}` }, segments(parts)));
  return [h("div", { class: "xb-title", text: `Case ${found.case}` }),
    h("div", { class: "xb-sides" }, side("Gold", found.gold), side("Predicted", found.predicted)),
    found.longer ? h("button", { type: "button", text: "Show all", click: showAll }) : null,
    h("dl", { class: "xb-notes" }, found.notes.flatMap(note))];
}

function casesView({ model, el }) {
  const head = h("thead");
  const body = h("tbody");
  const table = h("table", { role: "grid", "aria-label": "Cases" }, head, body);
  const frame = h("div", { class: "xb-frame" }, table);
  const status = h("span", { role: "status" });
  const back = h("button", { type: "button", text: "‹ Previous", click: () => turn(-1) });
  const next = h("button", { type: "button", text: "Next ›", click: () => turn(1) });
  const empty = h("div", { class: "xb-empty" });
  const detail = h("section", { class: "xb-detail", "aria-label": "The chosen case" });
  const below = h("tr", { class: "xb-below" }, h("td"));
  let page = null;
  let active = 0;
  let wanted = null;
  el.classList.add("xb", "xb-workbench");
  el.append(frame, empty, h("div", { class: "xb-pager" }, back, next, status), detail);

  function turn(by, place = null) {
    wanted = place;
    model.send({ kind: "turn", by });
  }
  function rows() {
    return body.querySelectorAll("tr[data-case]");
  }
  /** The chosen case stands below its row; below the table where its row is on another page. */
  function place() {
    const row = [...rows()].find((found) => Number(found.dataset.case) === model.get("selected"));
    below.remove();
    if (!row) { el.append(detail); return; }
    below.cells[0].colSpan = row.cells.length;
    below.cells[0].replaceChildren(detail);
    row.after(below);
  }
  function drawRows() {
    const focused = [...rows()].includes(document.activeElement);
    const chosen = model.get("selected");
    active = Math.max(0, Math.min(active, page.rows.length - 1));
    if (wanted !== null) active = wanted === "last" ? page.rows.length - 1 : 0;
    body.replaceChildren(...page.rows.map((row, at) => h("tr", { "data-case": row.case,
      "aria-selected": String(row.case === chosen), tabindex: at === active ? "0" : "-1",
      "aria-rowindex": page.start + at + 2, class: row.flip ? "xb-flipped" : null },
    cells(row, page.labelled))));
    place();
    if (focused || wanted !== null) rows()[active]?.focus();
    wanted = null;
  }
  function draw() {
    const found = received(model);
    if (!found) return;
    page = { ...found, rows: records(found) };
    head.replaceChildren(heads(page));
    table.setAttribute("aria-rowcount", page.total + 1);
    table.dataset.labels = page.titles.length;
    drawRows();
    frame.hidden = !page.rows.length;
    empty.hidden = Boolean(page.rows.length);
    empty.textContent = page.empty;
    status.textContent = page.rows.length
      ? `${page.start + 1}–${page.start + page.rows.length} of ${page.total}` : "";
    back.disabled = page.start === 0;
    next.disabled = page.start + page.rows.length >= page.total;
    el.querySelector(".xb-pager").hidden = page.total <= page.size;
  }
  function drawDetail() {
    const found = received(model, "detail");
    detail.hidden = !found;
    below.hidden = !found;
    detail.replaceChildren(...(found ? detailOf(found, () => model.send({ kind: "whole" })) : [])
      .filter((part) => part !== null));
  }
  function choose(at) {
    active = at;
    const row = page.rows[at];
    set(model, { selected: model.get("selected") === row.case ? null : row.case });
    rows()[at].focus();
  }
  function focusedAt(event) {
    const at = [...rows()].indexOf(event.target);
    if (at < 0 || at === active) return;
    rows()[active].tabIndex = -1;
    active = at;
    rows()[active].tabIndex = 0;
  }
  function keys(event) {
    const last = page.rows.length - 1;
    const to = step(event.key, active, last + 1, last + 1);
    if (event.key === "Enter" || event.key === " ") choose(active);
    else if (event.key === "PageDown" && !next.disabled) turn(1, "first");
    else if (event.key === "PageUp" && !back.disabled) turn(-1, "last");
    else if (event.key === "ArrowDown" && active === last && !next.disabled) turn(1, "first");
    else if (event.key === "ArrowUp" && active === 0 && !back.disabled) turn(-1, "last");
    else if (to !== null) rows()[to].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  body.addEventListener("keydown", keys);
  body.addEventListener("focusin", focusedAt);
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    const at = [...rows()].indexOf(row);
    if (at >= 0 && window.getSelection().isCollapsed) choose(at);
  });
  detail.addEventListener("keydown", (event) => event.stopPropagation());
  const stops = [
    follow(model, ["data"], draw),
    follow(model, ["selected"], () => page && drawRows()),
    follow(model, ["detail"], drawDetail),
  ];
  return () => stops.forEach((stop) => stop());
}

export default { render: casesView };
