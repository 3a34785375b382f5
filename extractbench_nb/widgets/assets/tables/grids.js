// Both grids of a page. A position is chosen by a click or by arrow keys (WAI-ARIA "grid"); its
// partner is outlined on the other side, and Enter goes there.
function gridsView({ model, el }) {
  let data = null;
  let sides = [];
  const boxes = [0, 1].map(() => h("div", { class: "xb-box" }));
  const tables = boxes.map(() => h("table", { role: "grid" }));
  const titles = boxes.map(() => h("div", { class: "xb-side-title" }));
  const holders = boxes.map((box, n) => h("div", { class: "xb-side" }, titles[n], box));
  const tools = h("div", { class: "xb-tools" });
  const area = h("div", { class: "xb-area" }, holders);
  const empty = h("div", { class: "xb-empty", role: "status" });
  const legend = h("p", { class: "xb-quiet" });
  el.classList.add("xb", "xb-tables");
  el.append(tools, empty, area, legend);

  function pager(axis) {
    const { first, last, total, number, pages } = data[axis];
    if (pages < 2) return null;
    const turn = (by, text, label) => h("button", { type: "button", text, "aria-label": label,
      disabled: number + by < 0 || number + by >= pages,
      click: () => model.send({ kind: "page", axis, to: number + by }) });
    return h("span", { class: "xb-pager" }, turn(-1, "‹", `Previous ${axis}`),
      h("span", { role: "status",
        text: `${axis} ${first + 1}–${last} of ${total.toLocaleString("en")}` }),
      turn(1, "›", `Next ${axis}`));
  }
  function drawTools() {
    const held = tools.contains(document.activeElement) ? document.activeElement.ariaLabel : null;
    const pagers = ["rows", "columns"].map(pager).filter(Boolean);
    tools.hidden = !pagers.length;
    tools.replaceChildren(...pagers);
    if (held === null) return;
    const live = [...tools.querySelectorAll("button:enabled")];
    (live.find((button) => button.ariaLabel === held) ?? live[0])?.focus();
  }
  function draw() {
    data = received(model) ?? data;
    if (!data) return;
    const held = tables.findIndex((table) => table.contains(document.activeElement));
    drawTools();
    sides = data.sides.map((side, n) => drawSide(tables[n], side));
    sides.forEach((side, n) => {
      const [height, width] = side.shape;
      titles[n].replaceChildren(h("b", { text: side.name }), ` ${height.toLocaleString("en")} rows × ${width.toLocaleString("en")} columns`);
      boxes[n].replaceChildren(height ? tables[n] : h("div", { class: "xb-empty", text: "An empty table." }));
      holders[n].replaceChildren(titles[n], boxes[n],
        ...side.notes.map((text) => h("p", { class: "xb-quiet", text })));
      boxes[n].scrollTop = 0;
    });
    area.hidden = Boolean(data.empty);
    legend.hidden = area.hidden;
    empty.hidden = !area.hidden;
    empty.textContent = data.empty;
    legend.textContent = data.legend;
    mark(held);
  }

  function chosen() {
    const [name, row, column] = model.get("selected") ?? [];
    const n = sides.findIndex((side) => side.name === name);
    return n < 0 ? null : { n, row, column, patch: sides[n].at(row, column) };
  }
  function partnerOf(which) {
    if (!which) return null;
    const side = sides[which.n];
    const row = side.lines.find((line) => line.at === which.row)?.partner ?? null;
    const column = side.heads.find((head) => head.at === which.column)?.partner ?? null;
    if (row === null || column === null) return null;
    return { n: 1 - which.n, row, column, patch: sides[1 - which.n].at(row, column) };
  }
  /** Outline the chosen cell and its partner, and let Tab reach one cell of each grid. */
  function mark(held = -1) {
    for (const old of area.querySelectorAll(".xb-on, .xb-partner, [aria-selected], [tabindex='0']")) {
      old.classList.remove("xb-on", "xb-partner");
      old.removeAttribute("aria-selected");
      if (old.tabIndex === 0) old.tabIndex = -1;
    }
    const which = chosen();
    const partner = partnerOf(which);
    for (const one of [which, partner]) {
      if (!one?.patch) continue;
      const table = tables[one.n];
      table.querySelector(`[data-row-head="${one.row}"]`)?.classList.add("xb-on");
      table.querySelector(`[data-column-head="${one.column}"]`)?.classList.add("xb-on");
    }
    which?.patch?.cell.setAttribute("aria-selected", "true");
    partner?.patch?.cell.classList.add("xb-partner");
    tables.forEach((table, n) => {
      const own = [which, partner].find((one) => one?.n === n && one.patch);
      const stop = own?.patch.cell ?? table.querySelector("[role=gridcell]");
      stop?.setAttribute("tabindex", "0");
      if (n === held) stop?.focus({ preventScroll: true });
    });
    for (const one of [which, partner]) if (one?.patch) reveal(one.patch.cell, boxes[one.n]);
  }
  /** Scroll a box, not the notebook, to one of its cells; its gutters cover what is below them. */
  function reveal(cell, box) {
    const [inner, outer] = [cell.getBoundingClientRect(), box.getBoundingClientRect()];
    const corner = box.querySelector(".xb-corner").getBoundingClientRect();
    const top = outer.top + corner.height;
    const left = outer.left + corner.width;
    if (inner.top < top) box.scrollTop -= top - inner.top;
    else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom + 12;
    if (inner.left < left) box.scrollLeft -= left - inner.left;
    else if (inner.right > outer.right) {
      box.scrollLeft += Math.min(inner.right - outer.right + 12, inner.left - left);
    }
  }

  function choose(n, row, column) {
    set(model, { selected: [sides[n].name, row, column] });
    mark(n);
  }
  /** The next index of this side after one of the drawn lines, beyond the page where need be. */
  function next(side, lines, from, by, axis) {
    for (let at = from; at >= 0 && at < lines.length; at += by) {
      if (lines[at].at !== null) return lines[at].at;
    }
    return side[by < 0 ? "before" : "after"][axis];
  }
  function move(n, patch, place, key) {
    const side = sides[n];
    const rows = (from, by) => next(side, side.lines, from, by, 0);
    const columns = (from, by) => next(side, side.heads, from, by, 1);
    const own = side.lines.filter((line) => line.at !== null);
    const to = {
      ArrowDown: () => [rows(patch.top + patch.height, 1), place.column],
      ArrowUp: () => [rows(patch.top - 1, -1), place.column],
      ArrowRight: () => [place.row, columns(patch.left + patch.width, 1)],
      ArrowLeft: () => [place.row, columns(patch.left - 1, -1)],
      Home: () => [place.row, side.heads[0].at],
      End: () => [place.row, side.heads.at(-1).at],
      PageDown: () => [side.after[0] ?? own.at(-1).at, place.column],
      PageUp: () => [side.before[0] ?? own[0].at, place.column],
    }[key]();
    if (to[0] !== null && to[1] !== null) choose(n, ...to);
  }
  function under(event) {
    const cell = event.target.closest?.("[role=gridcell]");
    const n = tables.findIndex((table) => cell && table.contains(cell));
    if (n < 0) return null;
    const [row, column] = [Number(cell.dataset.row), Number(cell.dataset.column)];
    return { n, row, column, patch: sides[n].at(row, column) };
  }
  /** The position that is meant: the chosen one, where it is of the cell that has the focus. */
  function meant(event) {
    const here = under(event);
    const which = chosen();
    return here && which?.n === here.n && which.patch === here.patch ? which : here;
  }
  function keys(event) {
    const at = meant(event);
    if (!at) return;
    if (event.key === "Escape") {
      set(model, { selected: null });
      mark(at.n);
    } else if (event.key === "Enter" || event.key === " ") {
      const partner = partnerOf(at);
      if (chosen()?.patch !== at.patch) choose(at.n, at.row, at.column);
      else if (partner) choose(partner.n, partner.row, partner.column);
    } else if (/^(Arrow|Home|End|Page)/.test(event.key)) move(at.n, at.patch, at, event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  area.addEventListener("keydown", keys);
  area.addEventListener("click", (event) => {
    const at = under(event);
    if (at) choose(at.n, at.row, at.column);
  });
  area.addEventListener("mouseover", (event) => {
    for (const near of area.querySelectorAll(".xb-near")) near.classList.remove("xb-near");
    partnerOf(under(event))?.patch?.cell.classList.add("xb-near");
  });
  boxes.forEach((box, n) => box.addEventListener("scroll", () => {
    boxes[1 - n].scrollTop = box.scrollTop;
  }));
  const stops = [follow(model, ["data"], draw), follow(model, ["selected"], () => {
    mark(tables.findIndex((table) => table.contains(document.activeElement)));
  })];
  return () => stops.forEach((stop) => stop());
}

export default { render: gridsView };
