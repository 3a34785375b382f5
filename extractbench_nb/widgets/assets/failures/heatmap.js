// The heatmap as a table: drawn whole from a page of the view model, each cell with its place.

function readSides(data) {
  return { rows: records(data.rows), columns: records(data.columns) };
}

/** One cell that can have the focus; row and column 0 are the headers. */
function stop(data, r, c, options, ...children) {
  return h(r && c ? "td" : "th", { "data-r": r, "data-c": c, tabindex: "-1",
    "aria-colindex": c ? data.columns.first + c + 1 : 1, ...options }, ...children);
}

function headerCell(data, line, r, c) {
  const { grouped } = data[r ? "rows" : "columns"];
  const { label, title, parts } = lineHead(line, data.measure, grouped, !r && data.few);
  return stop(data, r, c, { role: r ? "rowheader" : "columnheader", "aria-label": label, title,
    class: line.failed ? "xb-failed" : null }, h("div", {}, ...parts));
}

function bodyRow(data, sides, r) {
  const line = sides.rows[r - 1];
  const cells = data.cells[r - 1].map((values, i) => {
    const cell = asCell(values);
    const look = cellLook(cell, data.measure);
    const says = `${line.title}, ${sides.columns[i].title}: ${cellSays(cell, data.absent)}`;
    return stop(data, r, i + 1, { role: "gridcell", class: look.kind, text: look.text,
      "aria-label": says, title: says });
  });
  return h("tr", { role: "row", "aria-rowindex": data.rows.first + r + 1 },
    headerCell(data, line, r, 0), cells);
}

function groupRow(line, width) {
  return h("tr", { role: "row", class: "xb-group" },
    h("th", { role: "rowheader", colspan: width + 1 }, h("span", { dir: "auto", text: line.group })));
}

function tableParts(data, sides) {
  const width = sides.columns.length;
  const head = h("thead", { role: "rowgroup" }, h("tr", { role: "row", "aria-rowindex": 1 },
    h("td", { class: "xb-corner" }, h("div", {},
      h("span", { text: `${data.axes[0]} \\ ${data.axes[1]}` }), h("span", { text: "all", title: data.every }))),
    sides.columns.map((line, i) => headerCell(data, line, 0, i + 1))));
  const parts = [head];
  sides.rows.forEach((line, i) => {
    if (!i || line.group !== sides.rows[i - 1].group) {
      parts.push(h("tbody", { role: "rowgroup" }, data.rows.grouped ? groupRow(line, width) : null));
    }
    parts.at(-1).append(bodyRow(data, sides, i + 1));
  });
  return parts;
}

/** Draw a page into the table. */
function drawTable(table, data, sides) {
  table.className = data.few ? "xb-few" : "xb-many";
  table.setAttribute("aria-label", `${data.axes[0]} by ${data.axes[1]}, ${MEASURES[data.measure]}`);
  table.setAttribute("aria-rowcount", data.rows.total + 1);
  table.setAttribute("aria-colcount", data.columns.total + 1);
  table.replaceChildren(...tableParts(data, sides));
}

/** Which lines of an axis are shown, and buttons to turn the page where there are more. */
function pager(data, axis, turn) {
  const { first, total, page, rows, known } = data[axis];
  const noun = data.axes[axis === "rows" ? 0 : 1];
  if (rows.length >= total) {
    return total === known ? null
      : h("span", { text: `${total} of ${count(known, noun)} with these fields` });
  }
  const button = (step, text, label) => h("button", { type: "button", "aria-label": label, text,
    disabled: step < 0 ? first === 0 : first + rows.length >= total,
    click: () => turn(axis, Math.floor(first / page) + step) });
  return h("span", { class: "xb-pager" }, button(-1, "‹", `Previous ${noun}s`),
    h("span", { text: `${noun}s ${first + 1}–${first + rows.length} of ${total.toLocaleString("en")}` }),
    button(1, "›", `Next ${noun}s`));
}
