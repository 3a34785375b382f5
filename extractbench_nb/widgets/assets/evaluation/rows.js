// The list of fields, a page at a time (WAI-ARIA "grid" whose rows take the focus).

const COLUMNS = ["outcome", "field", "gold", "predicted", "score"];

function cell(kind, ...children) {
  return h("div", { role: "gridcell", class: `xb-cell xb-c-${kind}` }, ...children);
}

function fieldRow(row, place) {
  const side = (name) => cell(name, h("div", { class: "xb-value xb-clamp", dir: "auto",
    "data-side": name }, ...segments(row[name])));
  return h("div", { role: "row", class: "xb-row", tabindex: "-1", "data-label": row.label,
    "aria-rowindex": place },
  cell("outcome", h("span", { class: `xb-swatch xb-${row.outcome}` }),
    h("span", {}, h("span", { text: `${MARKS[row.outcome]} ${words(row.outcome)}` }), " ",
      row.reason === "match" ? null : h("span", { class: "xb-sub", text: words(row.reason) }))),
  cell("field", h("span", { class: "xb-path", text: row.path }), " ",
    h("span", { class: "xb-sub", text: row.metric + (row.counted ? "" : " · not counted") })),
  side("gold"), side("predicted"),
  cell("score", h("span", { class: "xb-num", text: scoreText(row.score) })));
}

function headerRow() {
  return h("div", { role: "row", class: "xb-row xb-heads", "aria-rowindex": 1 },
    ...COLUMNS.map((name) => h("div", { role: "columnheader", class: `xb-cell xb-c-${name}`,
      text: name })));
}

/** Say which rows these are: "51 to 100 of 471 fields", "3 fields (471 in all)". */
function counted({ rows, first, left, all, pages }) {
  const some = (n) => n.toLocaleString("en");
  const range = pages > 1 ? `${some(first + 1)} to ${some(first + rows.length)} of ` : "";
  const whole = left === all ? "" : ` (${some(all)} in all)`;
  return `${range}${some(left)} field${left === 1 ? "" : "s"}${whole}`;
}

function rowsView({ model, el }) {
  let page = null;
  let entering = null; // the end of the next page that the focus goes to: "first" or "last"
  const count = h("span", { role: "status" });
  const turn = (by) => set(model,
    { number: Math.max(0, Math.min(page.pages - 1, model.get("number") + by)) });
  const back = h("button", { type: "button", text: "‹ Previous", click: () => turn(-1) });
  const on = h("button", { type: "button", text: "Next ›", click: () => turn(1) });
  const copy = copyButton("Copy rows as Python", () => page.code);
  const grid = h("div", { role: "grid", "aria-label": "Fields", class: "xb-grid" });
  const empty = h("div", { class: "xb-empty" });
  el.classList.add("xb", "xb-rows");
  el.append(h("div", { class: "xb-tools" }, count, h("span", { class: "xb-push" }), copy.status,
    back, on, copy.button), copy.box, grid, empty);

  const rows = () => [...grid.querySelectorAll("[data-label]")];
  /** Scroll the list alone: the notebook stays where it is. */
  function reveal(row) {
    const least = row.offsetTop + row.offsetHeight - grid.clientHeight;
    const most = row.offsetTop - grid.firstElementChild.offsetHeight;
    grid.scrollTop = Math.min(most, Math.max(least, grid.scrollTop));
  }
  function focusOn(row) {
    for (const other of rows()) other.tabIndex = other === row ? 0 : -1;
    row?.focus();
  }
  function mark() {
    const chosen = String(model.get("chosen"));
    for (const row of rows()) row.setAttribute("aria-selected", String(row.dataset.label === chosen));
    const picked = rows().find((row) => row.dataset.label === chosen);
    const reached = rows().some((row) => row === document.activeElement);
    if (!reached) for (const row of rows()) row.tabIndex = row === (picked ?? rows()[0]) ? 0 : -1;
    if (picked && !reached) requestAnimationFrame(() => reveal(picked));
  }
  function draw() {
    const held = rows().indexOf(document.activeElement);
    const turning = [back, on].includes(document.activeElement);
    page = received(model);
    count.textContent = counted(page);
    back.hidden = on.hidden = page.pages === 1;
    back.disabled = page.number === 0;
    on.disabled = page.number >= page.pages - 1;
    copy.button.title = page.code.slice(0, 600);
    copy.reset();
    empty.textContent = page.empty;
    empty.hidden = !page.empty;
    grid.hidden = !page.rows.length;
    grid.setAttribute("aria-rowcount", page.left + 1);
    grid.replaceChildren(headerRow(),
      ...records(page).map((row, i) => fieldRow(row, page.first + i + 2)));
    mark();
    const wanted = entering === "last" ? page.rows.length - 1 : entering === "first" ? 0 : held;
    entering = null;
    if (wanted >= 0) focusOn(rows()[Math.min(wanted, page.rows.length - 1)]);
    else grid.scrollTop = 0;
    if (turning) focusOnButton();
  }
  /** A button that can no longer be pressed hands the focus on. */
  function focusOnButton() {
    const usable = [document.activeElement, on, back, copy.button];
    usable.find((button) => button.tagName === "BUTTON" && !button.disabled && !button.hidden).focus();
  }
  function choose(row) {
    set(model, { chosen: Number(row.dataset.label) });
  }
  function keys(event) {
    const all = rows();
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    const to = step(event.key, at, all.length);
    if (entering) return event.preventDefault(); // the page is still to come
    if (event.key === "ArrowDown" && at === all.length - 1 && !on.disabled) {
      entering = "first";
      turn(1);
    } else if (event.key === "ArrowUp" && at === 0 && !back.disabled) {
      entering = "last";
      turn(-1);
    } else if (to !== null) focusOn(all[to]);
    else if (event.key === "Enter" || event.key === " ") choose(all[at]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  grid.addEventListener("keydown", keys);
  grid.addEventListener("click", (event) => {
    const row = event.target.closest("[data-label]");
    if (!row) return;
    focusOn(row);
    choose(row);
  });
  const stops = [follow(model, ["data"], draw), follow(model, ["chosen"], mark)];
  return () => stops.forEach((stop) => stop());
}

export default { render: rowsView };
