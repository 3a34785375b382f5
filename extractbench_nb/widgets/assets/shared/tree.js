// The schema as a tree (WAI-ARIA "tree"): one row per visible node, drawn when its parent is unfolded.

/** Nodes arrive in document order, each with the place of its parent. */
function asTree(data) {
  const nodes = records(data).map((node, at) => ({ ...node, at, below: [],
    search: [node.field, node.type, ...node.notes, node.about].join("\n").toLowerCase() }));
  for (const node of nodes) if (node.parent !== null) nodes[node.parent].below.push(node.at);
  return nodes;
}

function ancestors(nodes, at) {
  const found = [];
  for (let up = nodes[at].parent; up !== null; up = nodes[up].parent) found.push(up);
  return found;
}

/** Unfold level by level while the tree fits a screen or two. */
function unfoldSome(nodes, budget = 40) {
  const open = new Set();
  let level = nodes.length ? [0] : [];
  let shown = level.length;
  while (level.length) {
    const next = [];
    for (const at of level) {
      const below = nodes[at].below;
      if (!below.length || (at !== 0 && shown + below.length > budget)) continue;
      open.add(at);
      shown += below.length;
      next.push(...below);
    }
    level = next;
  }
  return open;
}

function visible(nodes, open) {
  const shown = [];
  const stack = nodes.length ? [0] : [];
  while (stack.length) {
    const at = stack.pop();
    shown.push(at);
    if (open.has(at)) stack.push(...[...nodes[at].below].reverse());
  }
  return shown;
}

function nodeLabel(node) {
  const counts = node.counts.length ? `; score ${scoreText(node.score)}: ${countsText(node.counts)}` : "";
  return `${node.name}, ${[node.type, ...node.notes].join(", ")}${counts}`;
}

function nodeRow(node, nodes, open) {
  const level = ancestors(nodes, node.at).length + 1;
  const siblings = node.parent === null ? [node.at] : nodes[node.parent].below;
  const folds = node.below.length > 0;
  const row = h("div", { role: "treeitem", tabindex: "-1", "aria-level": level,
    "aria-posinset": siblings.indexOf(node.at) + 1, "aria-setsize": siblings.length,
    "aria-expanded": folds ? String(open.has(node.at)) : null, "aria-label": nodeLabel(node),
    "data-path": node.path, title: `${node.field}\n${node.about}`.trim() },
  h("span", { class: "xb-fold xb-quiet", text: folds ? (open.has(node.at) ? "▾" : "▸") : "" }),
  h("span", { class: "xb-name", text: node.name }),
  h("span", { class: "xb-about", text: [node.type, ...node.notes].join(" · ") }));
  if (node.counts.length) {
    row.append(h("span", { class: "xb-score", text: scoreText(node.score) }), countsBar(node.counts));
  }
  row.style.setProperty("--level", level);
  return row;
}

function treeView({ model, el }) {
  let nodes = [];
  let open = new Set();
  let active = 0;
  let found = [];
  const list = h("div", { role: "tree", "aria-label": "Nodes of the schema" });
  const status = h("span", { class: "xb-quiet", role: "status" });
  const box = h("input", { type: "search", "aria-label": "Find a node",
    placeholder: "Find a node: name, type, metric, description" });
  const all = h("button", { type: "button", text: "Unfold all" });
  el.classList.add("xb");
  el.append(h("div", { class: "xb-find" }, box, all, status), list);

  function rowOf(at) {
    return list.querySelector(`[data-at="${at}"]`);
  }
  function draw({ focus = false } = {}) {
    const chosen = model.get("selected");
    const top = list.scrollTop;
    const shown = visible(nodes, open);
    if (!shown.includes(active)) active = shown.length ? shown[0] : 0;
    list.replaceChildren(...shown.map((at) => {
      const row = nodeRow(nodes[at], nodes, open);
      row.dataset.at = at;
      row.setAttribute("aria-selected", String(nodes[at].path === chosen));
      row.classList.toggle("xb-found", found.includes(at));
      row.tabIndex = at === active ? 0 : -1;
      return row;
    }));
    all.textContent = open.size === nodes.filter((n) => n.below.length).length
      ? "Fold all" : "Unfold all";
    list.scrollTop = top;
    if (focus) rowOf(active)?.focus();
  }
  function reveal(at) {
    for (const up of ancestors(nodes, at)) open.add(up);
  }
  function goTo(at, options = { focus: true }) {
    active = at;
    reveal(at);
    draw(options);
    rowOf(at)?.scrollIntoView({ block: "nearest" });
  }
  function fold(at, unfolded) {
    if (!nodes[at].below.length) return;
    if (unfolded) open.add(at);
    else open.delete(at);
    active = at;
    draw({ focus: true });
  }
  function choose(at) {
    active = at;
    set(model, { selected: nodes[at].path });
    draw({ focus: true });
  }
  function search() {
    const wanted = box.value.trim().toLowerCase();
    found = wanted ? nodes.filter((n) => n.search.includes(wanted)).map((n) => n.at) : [];
    for (const at of found.slice(0, 300)) reveal(at);
    if (found.length) active = found[0];
    status.textContent = !wanted ? "" : `${found.length} found`;
    draw();
    if (found.length) rowOf(found[0])?.scrollIntoView({ block: "nearest" });
  }
  function keys(event) {
    const shown = visible(nodes, open);
    const node = nodes[active];
    const to = step(event.key, shown.indexOf(active), shown.length);
    if (to !== null) goTo(shown[to]);
    else if (event.key === "ArrowRight") {
      if (!open.has(active)) fold(active, true);
      else if (node.below.length) goTo(node.below[0]);
    } else if (event.key === "ArrowLeft") {
      if (open.has(active)) fold(active, false);
      else if (node.parent !== null) goTo(node.parent);
    } else if (event.key === "Enter" || event.key === " ") choose(active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  function click(event) {
    const row = event.target.closest("[role=treeitem]");
    if (!row) return;
    const at = Number(row.dataset.at);
    if (event.target.closest(".xb-fold") && nodes[at].below.length) fold(at, !open.has(at));
    else choose(at);
  }
  list.addEventListener("keydown", keys);
  list.addEventListener("click", click);
  box.addEventListener("input", search);
  box.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" && found.length) goTo(found[0]);
    if (event.key === "Escape") { box.value = ""; search(); }
  });
  all.addEventListener("click", () => {
    const folding = nodes.filter((n) => n.below.length).map((n) => n.at);
    open = open.size === folding.length ? new Set([0]) : new Set(folding);
    draw();
  });
  const stops = [
    follow(model, ["data"], () => {
      const paths = new Set([...open].map((at) => nodes[at].path));
      nodes = asTree(received(model));
      open = unfoldSome(nodes);
      for (const node of nodes) if (paths.has(node.path)) open.add(node.at);
      draw();
    }),
    follow(model, ["selected"], () => {
      const at = nodes.findIndex((node) => node.path === model.get("selected"));
      if (at >= 0 && at !== active) goTo(at, {});
      else draw();
    }),
  ];
  return () => stops.forEach((stop) => stop());
}
