// Sorts, filters and unfolds a page that stands alone. Everything can be read without it.
"use strict";

function make(tag, text, attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

const widthOf = (row) => [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0);

function textOf(row, column) {
  let end = 0;
  for (const cell of row.cells) {
    end += cell.colSpan;
    if (end > column) return cell.textContent.trim();
  }
  return "";
}

const numberOf = (text) => Number.parseFloat(text.replaceAll(",", ""));
const kindOf = (row) => (row.querySelector(".xb-outcome")?.textContent ?? "").trim();

/** Whether all rows are as wide as the one row of heads. */
function isList(table) {
  const columns = table.tHead?.rows.length === 1 ? table.tHead.rows[0].cells.length : 0;
  const rows = [...(table.tBodies[0]?.rows ?? [])];
  const isGrid = table.matches(".xb-heat, .xb-grits table, .xb-grid, .xb-box table, .xb-wide table, .xb-counts");
  return !isGrid && table.tBodies.length === 1 && rows.length > 1 &&
    rows.every((row) => widthOf(row) === columns);
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const button = make("button", "", { type: "button", class: "sort" });
    button.append(...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      const rows = [...table.tBodies[0].rows];
      const isNumber = rows.some((row) => textOf(row, column)) &&
        rows.every((row) => !/^[^\d-]/.test(textOf(row, column)) || textOf(row, column) === "n/a");
      const order = isNumber
        ? (a, b) => (numberOf(a) || 0) - (numberOf(b) || 0)
        : (a, b) => a.localeCompare(b, undefined, { numeric: true });
      rows.sort((a, b) => sign * order(textOf(a, column), textOf(b, column)));
      table.tBodies[0].append(...rows);
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    });
  });
}

/** Puts a search box, and a choice of outcomes if rows have them, above the tables of a section. */
function makeFilter(tables, before) {
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  const search = make("input", "", { type: "search", "aria-label": "Filter rows", placeholder: "Filter rows" });
  const choice = make("select", "", { "aria-label": "Outcome" });
  const kinds = [...new Set(rows.map(kindOf).filter(Boolean))].sort();
  choice.append(make("option", "every outcome", { value: "" }), ...kinds.map((kind) => make("option", kind)));
  const count = make("span", "", { role: "status", class: "count" });
  const tools = make("p", "", { class: "tools" });
  tools.append(search, ...(kinds.length > 1 ? [choice] : []), count);
  const apply = () => {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted) ||
        (choice.value !== "" && kindOf(row) !== choice.value);
      shown += !row.hidden;
      if (!row.hidden && (wanted || choice.value)) row.closest("details")?.setAttribute("open", "");
    }
    count.textContent = wanted || choice.value ? `${shown} of the ${rows.length} rows on this page` : `${rows.length} rows`;
  };
  for (const control of [search, choice]) control.addEventListener("input", apply);
  apply();
  before.before(tools);
}

function makeUnfolder() {
  const all = [...document.querySelectorAll("details")];
  if (all.length < 3) return;
  const button = make("button", "Unfold all", { type: "button" });
  button.addEventListener("click", () => {
    const open = button.textContent === "Unfold all";
    for (const details of all) details.open = open;
    button.textContent = open ? "Fold all" : "Unfold all";
  });
  const tools = make("p", "", { class: "tools" });
  tools.append(button);
  (document.querySelector("main, .xb-title") ?? document.body.firstChild).before(tools);
}

const lists = [...document.querySelectorAll("table")].filter(isList);
lists.forEach(makeSortable);
const bySection = Map.groupBy
  ? Map.groupBy(lists, (table) => table.closest("section") ?? table)
  : new Map(lists.map((table) => [table, [table]]));
for (const tables of bySection.values()) {
  const rows = tables.reduce((sum, table) => sum + table.tBodies[0].rows.length, 0);
  if (rows > 7) makeFilter(tables, tables[0].closest(".xb-scroll") ?? tables[0]);
}
makeUnfolder();
