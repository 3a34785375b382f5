// What a person does with the heatmap (WAI-ARIA "grid"): click or Enter takes a cell, a header takes
// its line; dragging, Shift+click and Shift+arrows take a block.

function heatmapView({ model, el }) {
  let data = null;
  let sides = { rows: [], columns: [] };
  let active = [1, 1];
  let anchor = null;
  let draft = null;
  let landing = 0;
  const table = h("table", { role: "grid", "aria-multiselectable": "true" });
  const box = h("div", { class: "xb-box" }, table);
  const head = h("div", { class: "xb-headline" });
  const tools = h("div", { class: "xb-tools" });
  const foot = h("div");
  const clear = h("button", { type: "button", text: "Clear selection", click: () => drop() });
  const gone = new AbortController();
  el.classList.add("xb", "xb-heat");
  el.append(head, tools, box, foot);

  const at = ([r, c]) => table.querySelector(`[data-r="${r}"][data-c="${c}"]`);
  const place = (cell) => [Number(cell.dataset.r), Number(cell.dataset.c)];
  const drop = () => set(model, { block: [] });
  const flip = (axis, to) => model.send({ kind: "page", axis, to });
  const area = (one, two) => [Math.min(one[0], two[0]), Math.min(one[1], two[1]),
    Math.max(one[0], two[0]), Math.max(one[1], two[1])];

  function draw() {
    const held = el.getRootNode().activeElement;
    const [inTable, inTools] = [table.contains(held), tools.contains(held)];
    data = received(model);
    sides = readSides(data);
    const height = sides.rows.length;
    head.replaceChildren(...data.headline.map((text) => h("span", { text })));
    tools.replaceChildren(...[pager(data, "rows", flip), pager(data, "columns", flip), clear]
      .filter(Boolean));
    tools.hidden = !height;
    if (inTools) refocus(tools, held);
    box.hidden = !height;
    drawTable(table, data, sides);
    foot.replaceChildren(height ? legend(data)
      : h("p", { class: "xb-empty", role: "status", text: data.empty }));
    if (landing) active = [landing > 0 ? 1 : height, active[1]];
    [anchor, landing] = [null, 0];
    mark();
    const near = [Math.min(active[0], height), Math.min(active[1], sides.columns.length)];
    focus(at(near) ? near : [1, 1], inTable);
  }
  function mark() {
    const [rows, columns] = model.get("block").map((codes) => new Set(codes));
    const [r0, c0, r1, c1] = draft ?? [];
    clear.disabled = !rows;
    for (const cell of table.querySelectorAll("td[data-r]")) {
      const [r, c] = place(cell);
      const chosen = draft ? r >= r0 && r <= r1 && c >= c0 && c <= c1
        : Boolean(rows?.has(sides.rows[r - 1].code) && columns.has(sides.columns[c - 1].code));
      cell.setAttribute("aria-selected", String(chosen));
    }
  }
  function focus(to, really = true) {
    at(active)?.setAttribute("tabindex", "-1");
    active = to;
    at(active)?.setAttribute("tabindex", "0");
    if (really) at(active)?.focus();
  }
  function take([r0, c0, r1, c1]) {
    const codes = (side, from, to) => side.slice(from - 1, to).map((line) => line.code);
    set(model, { block: [codes(sides.rows, r0, r1), codes(sides.columns, c0, c1)] });
  }
  function choose([r, c]) {
    anchor = r && c ? [r, c] : null;
    if (r && c) take([r, c, r, c]);
    else if (r) model.send({ kind: "line", axis: "rows", code: sides.rows[r - 1].code });
    else model.send({ kind: "line", axis: "columns", code: sides.columns[c - 1].code });
  }
  function turn(step) {
    const { first, total, page } = data.rows;
    const to = Math.floor(first / page) + step;
    if (to < 0 || to * page >= total) focus([step < 0 ? 1 : sides.rows.length, active[1]]);
    else {
      landing = step;
      flip("rows", to);
    }
  }
  function move([down, across], extend) {
    const to = [active[0] + down, active[1] + across];
    const inside = to[0] > 0 && to[1] > 0;
    if (to[0] > sides.rows.length && !extend) turn(1);
    else if (at(to) && !extend) {
      anchor = null;
      focus(to);
    } else if (at(to) && inside && active[0] && active[1]) {
      anchor ??= active;
      focus(to);
      take(area(anchor, to));
    }
  }
  function keys(event) {
    const steps = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
    const [height, width] = [sides.rows.length, sides.columns.length];
    if (steps[event.key]) move(steps[event.key], event.shiftKey);
    else if (event.key === "Home") focus(event.ctrlKey ? [1, 1] : [active[0], active[0] ? 0 : 1]);
    else if (event.key === "End") focus([event.ctrlKey ? height : active[0], width]);
    else if (event.key === "PageDown") turn(1);
    else if (event.key === "PageUp") turn(-1);
    else if (event.key === "Enter" || event.key === " ") choose(active);
    else if (event.key === "Escape") drop();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  function click(event) {
    const cell = event.target.closest("[data-r]");
    if (!cell) return;
    const to = place(cell);
    focus(to);
    if (event.shiftKey && anchor && to[0] && to[1]) take(area(anchor, to));
    else choose(to);
  }
  function drag(event) {
    if (!(event.buttons & 1)) return release();
    const over = event.target.closest("td[data-r]");
    if (over && pressed) {
      const to = area(pressed, place(over));
      if (!draft && to[0] === to[2] && to[1] === to[3]) return;
      draft = to;
      mark();
    }
  }
  function release() {
    const taken = draft;
    anchor = taken ? pressed : anchor;
    [draft, pressed] = [null, null];
    if (taken) take(taken);
  }
  let pressed = null;
  table.addEventListener("keydown", keys);
  table.addEventListener("click", click);
  table.addEventListener("focusin", (event) => {
    const cell = event.target.closest("[data-r]");
    if (cell) focus(place(cell), false);
  });
  table.addEventListener("pointerdown", (event) => {
    const cell = event.target.closest("td[data-r]");
    if (cell && event.button === 0 && event.pointerType !== "touch" && !event.shiftKey) {
      pressed = place(cell);
    }
  });
  table.addEventListener("pointermove", drag);
  el.ownerDocument.addEventListener("pointerup", release, { signal: gone.signal });
  const stops = [follow(model, ["data"], draw), follow(model, ["block"], mark)];
  return () => [...stops, () => gone.abort()].forEach((end) => end());
}

export default { render: heatmapView };
