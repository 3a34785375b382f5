// The cells of one grid: how they look, and what a screen reader says of them.
function asPatch(values) {
  const names = ["row", "column", "height", "width", "state", "similarity", "sign", "kind", "text"];
  return Object.fromEntries(names.map((name, i) => [name, values[i]]));
}

function asLine([at, partner, similarity, text, patches]) {
  return { at, partner, similarity, text, patches: (patches ?? []).map(asPatch) };
}

const KINDS = { header: "column header", projected: "row header", "": "" };
const STATES = { alike: "similarity 1", alone: "without a partner", partly: "partly without a partner" };

function patchSays(patch, side) {
  const span = patch.height * patch.width > 1 ? `spans ${patch.height} by ${patch.width}` : "";
  const alike = patch.state === "unlike" ? `similarity ${patch.sign}` : STATES[patch.state];
  return [`${side.name} row ${patch.row}, column ${patch.column}: ${patch.text || "no text"}`,
    KINDS[patch.kind], span, alike].filter(Boolean).join("; ");
}

/** A cell that can have the focus. The weaker the match the stronger its tint. */
function patchCell(patch, side) {
  const size = { rowspan: patch.height > 1 ? patch.height : null,
    colspan: patch.width > 1 ? patch.width : null };
  if (patch.state === "gap") return h("td", { class: "xb-gap", role: "presentation", ...size });
  const says = patchSays(patch, side);
  const cell = h("td", { role: "gridcell", tabindex: "-1", "aria-label": says, title: says,
    class: [`xb-${patch.state}`, patch.kind && `xb-${patch.kind}`].filter(Boolean).join(" "),
    "data-row": patch.row, "data-column": patch.column, ...size },
  h("div", {}, h("span", { class: "xb-text", dir: "auto", text: patch.text }),
    patch.sign ? h("span", { class: "xb-sign", text: patch.sign }) : null));
  if (patch.state === "unlike" || patch.state === "partly") {
    cell.style.setProperty("--xb-unlike", String(1 - patch.similarity));
  }
  return cell;
}

function gutter(line, side, which) {
  const partner = line.partner === null ? "without a partner"
    : `matched with ${which} ${line.partner}, similarity ${scoreText(line.similarity)}`;
  const says = `${side.name} ${which} ${line.at}, ${partner}`;
  return h("th", { role: which === "row" ? "rowheader" : "columnheader", "aria-label": says,
    title: says, text: line.text, class: line.partner === null ? "xb-gutter xb-alone" : "xb-gutter",
    [`data-${which}-head`]: line.at });
}

function bodyRow(line, side) {
  const cells = line.patches.map((patch) => patchCell(patch, side));
  const own = line.at !== null;
  return h("tr", { role: own ? "row" : "presentation", "aria-rowindex": own ? line.at + 2 : null },
    own ? gutter(line, side, "row") : h("td", { class: "xb-gutter", role: "presentation" }), cells);
}

/** A side as the page draws it, with the cell of each place: a cell is at all that it spans. */
function drawSide(table, side) {
  const heads = side.heads.map((values) => asLine(values));
  const lines = side.lines.map((values) => asLine(values));
  const rows = lines.map((line) => bodyRow(line, side));
  table.setAttribute("aria-label", `${side.name} table`);
  table.setAttribute("aria-rowcount", side.shape[0] + 1);
  table.setAttribute("aria-colcount", side.shape[1] + 1);
  table.replaceChildren(
    h("thead", { role: "rowgroup" }, h("tr", { role: "row", "aria-rowindex": 1 },
      h("td", { class: "xb-gutter xb-corner", role: "presentation" }),
      heads.map((head) => gutter(head, side, "column")))),
    h("tbody", { role: "rowgroup" }, rows));
  const places = new Map();
  lines.forEach((line, r) => {
    const cells = rows[r].querySelectorAll("td:not(.xb-gutter)");
    line.patches.forEach((patch, i) => {
      if (patch.state === "gap") return;
      const left = heads.findIndex((head) => head.at === patch.column);
      const spanned = { ...patch, top: r, left, cell: cells[i] };
      for (let down = r; down < r + patch.height; down++) {
        for (let across = left; across < left + patch.width; across++) {
          places.set(`${lines[down].at} ${heads[across].at}`, spanned);
        }
      }
    });
  });
  return { ...side, table, heads, lines, at: (row, column) => places.get(`${row} ${column}`) ?? null };
}
