// The front end of every view. Python draws the page as trees (display/nodes.py): this module builds
// and updates elements from them, inside a shadow root, and sends what the reader does to Python.
// Text is always a text node or an attribute: nothing from a document is parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";
/** Attributes whose elements keep a state of their own, to be set as properties. */
const PROPERTIES = new Set(["value", "checked", "open", "disabled"]);
const TYPING_MILLISECONDS = 150;
/** How long a moved slider stays where it was put, whatever Python says of earlier moves. */
const MOVING_MILLISECONDS = 1000;
/** How long Python may take to handle an event before the page says that it is not heard. */
const PATIENCE_MILLISECONDS = 4000;

// --- trees: [tag, attributes, child, ...]; a child is a tree or a text ---------------------------

function build(tree, inSvg = false) {
  if (typeof tree === "string") return document.createTextNode(tree);
  const [tag, attributes, ...children] = tree;
  const svg = inSvg || tag === "svg";
  const element = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  element.append(...children.map((child) => build(child, svg)));
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  element.tree = tree;
  return element;
}

function setAttribute(element, name, value) {
  if (name === "key") return;
  if (PROPERTIES.has(name) && name in element && element.localName !== "li") {
    element[name] = value ?? false;
  } else if (value === undefined) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : value);
}

const keyOf = (tree, at) => (typeof tree === "string" ? `text ${at}` : tree[1].key ?? `${tree[0]} ${at}`);

const inUse = (node) => node.matches(":focus") && (node.matches("input[type=search], input[type=text], input[type=number], textarea")
  || Date.now() - (node.moved ?? 0) < MOVING_MILLISECONDS);

/** Change an element from the tree that it was built from to a new one; return the element. */
function update(node, old, tree, inSvg) {
  if (old === tree) return node;
  if (typeof tree === "string" || typeof old === "string" || old[0] !== tree[0]
    || old[1]["data-part"] !== tree[1]["data-part"]) {
    const fresh = build(tree, inSvg);
    node.replaceWith(fresh);
    return fresh;
  }
  for (const name of new Set([...Object.keys(old[1]), ...Object.keys(tree[1])])) {
    const newer = name === "value" && inUse(node); // than what Python has seen
    const shown = name === "value" && node.localName === "input" && node.value !== String(tree[1].value ?? "");
    if (!newer && (shown || old[1][name] !== tree[1][name])) setAttribute(node, name, tree[1][name]);
  }
  node.tree = tree;
  if (!("data-part" in tree[1])) updateChildren(node, old.slice(2), tree.slice(2), inSvg || tree[0] === "svg");
  return node;
}

function updateChildren(parent, old, trees, inSvg) {
  const nodes = [...parent.childNodes];
  const known = new Map(old.map((tree, at) => [keyOf(tree, at), [nodes[at], tree]]));
  const next = trees.map((tree, at) => {
    const found = known.get(keyOf(tree, at));
    known.delete(keyOf(tree, at));
    return found ? update(found[0], found[1], tree, inSvg) : build(tree, inSvg);
  });
  for (const [node] of known.values()) node.remove();
  next.forEach((node, at) => {
    if (parent.childNodes[at] !== node) parent.insertBefore(node, parent.childNodes[at] ?? null);
  });
}

// --- keys: one item of a list, a tree or a grid has the focus (roving tabindex) -------------------

const KEYS = "[data-keys]";
const itemsOf = (box) => [...box.querySelectorAll("[data-item]")].filter(
  (item) => item.closest(KEYS) === box && item.checkVisibility());

/** Exactly one item of each box can be reached with Tab: the active one, the chosen, or the first. */
function rove(root) {
  for (const box of root.querySelectorAll(KEYS)) {
    const items = [...box.querySelectorAll("[data-item]")].filter((item) => item.closest(KEYS) === box);
    const held = items.find((item) => item === box.active);
    const chosen = items.find((item) => ["aria-selected", "aria-current"].some((name) => item.getAttribute(name) === "true"));
    const active = (held?.matches(":focus") ? held : chosen ?? held) ?? items[0];
    for (const item of items) item.tabIndex = item === active ? 0 : -1;
    box.active = active;
  }
}

function focusItem(box, item) {
  if (!item) return;
  if (box.active) box.active.tabIndex = -1;
  box.active = item;
  item.tabIndex = 0;
  item.focus();
  item.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function moved(key, at, size) {
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0,
    End: size - 1 }[key];
  return to === undefined ? null : Math.max(0, Math.min(size - 1, to));
}

/** In a tree, items are summaries of details, and leaves. */
function treeKey(box, item, key) {
  const fold = item.localName === "summary" ? item.parentElement : null;
  if (key === "ArrowRight") {
    if (!fold) return true;
    if (fold.open) focusItem(box, itemsOf(box).find((other) => other !== item && fold.contains(other)));
    else fold.open = true;
    return true;
  }
  if (key === "ArrowLeft") {
    if (fold?.open) fold.open = false;
    else focusItem(box, (fold ?? item).parentElement.closest("details")?.querySelector("summary"));
    return true;
  }
  return false;
}

const placeOf = (cell) => [Number(cell.dataset.row), Number(cell.dataset.column)];
/** The first and last row, and the first and last column, that a cell covers. */
function extentOf(cell) {
  const [row, column] = placeOf(cell);
  return [[row, row + (cell.rowSpan || 1) - 1], [column, column + (cell.colSpan || 1) - 1]];
}
const within = ([first, last], at) => first <= at && at <= last;

/** Arrows go to the next cell of the same row or column, over gaps; "edge" where there is none. */
function gridKey(box, item, event) {
  const [axis, by] = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [1, -1], ArrowRight: [1, 1],
    PageUp: [0, -10], PageDown: [0, 10] }[event.key] ?? [];
  const places = itemsOf(box).map((cell) => ({ cell, extent: extentOf(cell) }));
  const own = extentOf(item);
  let to;
  if (by) {
    // out of a cell that spans several columns, on in the column from which it was entered
    const lane = own.map((extent, n) => (box.lane && within(extent, box.lane[n]) ? box.lane[n] : extent[0]));
    const line = places.filter(({ cell, extent }) => within(extent[1 - axis], lane[1 - axis])
      && (by < 0 ? extent[axis][1] < own[axis][0] : extent[axis][0] > own[axis][1]));
    line.sort((one, other) => by * (one.extent[axis][0] - other.extent[axis][0]));
    to = line.find(({ extent }) => (by < 0 ? extent[axis][0] <= own[axis][0] + by : extent[axis][1] >= own[axis][1] + by))
      ?? line.at(-1);
    if (!to) return "edge";
    lane[axis] = to.extent[axis][0];
    box.lane = lane;
  } else if (event.key === "Home" || event.key === "End") {
    const line = event.ctrlKey ? places : places.filter(({ extent }) => within(extent[0], own[0][0]));
    to = line.at(event.key === "Home" ? 0 : -1);
  } else return false;
  focusItem(box, to.cell);
  return true;
}

/** Select the cells of a grid that are in the chosen rows and columns, without drawing it again. */
function choose(box) {
  const [rows, columns] = JSON.parse(box.dataset.chosen).map((places) => new Set(places));
  let first = null;
  for (const cell of box.querySelectorAll("td[data-row]")) {
    const [row, column] = placeOf(cell);
    const chosen = Boolean(rows?.has(row) && columns?.has(column));
    cell.setAttribute("aria-selected", String(chosen));
    if (chosen) first ??= cell;
  }
  if (first && box.shownChoice !== box.dataset.chosen) {
    const [cell, pane] = [first.getBoundingClientRect(), box.getBoundingClientRect()];
    if (cell.bottom > pane.bottom || cell.top < pane.top) box.scrollTop += cell.top - pane.top - pane.height / 2;
  }
  box.shownChoice = box.dataset.chosen;
}

// --- the view ------------------------------------------------------------------------------------

function render({ model, el }) {
  const shadow = el.attachShadow({ mode: "open" });
  const style = document.createElement("style");
  const root = document.createElement("div");
  const brush = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
    .getContext("2d", { willReadFrequently: true });
  const end = new AbortController();
  const on = { signal: end.signal };
  shadow.append(style, root);
  el.dataset.xbLive = model.get("_name");
  el.dataset.lmSuppressShortcuts = "true"; // keys typed here are no commands of JupyterLab
  let timer = 0;
  let moving = 0;
  let waiting = 0;
  let acted = false; // whether the reader has, since the last drawing
  let events = 0;
  let patience = 0;
  const silence = Object.assign(document.createElement("div"), { className: "xb xb-silence" });
  silence.setAttribute("role", "alert");
  silence.append(Object.assign(document.createElement("p"), { className: "xb-dead", textContent:
    "The kernel does not answer. If no cell is running, it was restarted: run this cell again." }));

  function heard() {
    if (model.get("_heard") < events) return;
    clearTimeout(patience);
    silence.remove();
  }
  function send(name, value) {
    clearTimeout(moving);
    clearTimeout(waiting);
    waiting = setTimeout(() => root.setAttribute("data-waiting", ""), 500);
    acted = true;
    events += 1;
    clearTimeout(patience);
    patience = setTimeout(() => root.append(silence), PATIENCE_MILLISECONDS);
    try {
      model.send({ do: name, value, at: events });
    } catch { // there is no connection to a kernel
      root.append(silence);
    }
  }
  function draw() {
    clearTimeout(waiting);
    root.removeAttribute("data-waiting");
    const sheet = model.get("_style"); // an opened view has rules of its own
    if (style.textContent !== sheet) style.textContent = sheet;
    const focused = shadow.activeElement;
    const box = focused?.closest(KEYS);
    fill(root, "_p0");
    rove(root);
    for (const grid of root.querySelectorAll("[data-chosen]")) choose(grid);
    if (box?.isConnected && !focused.isConnected) focusItem(box, box.active);
    else if (focused?.isConnected && shadow.activeElement !== focused) focused.focus({ preventScroll: true });
    else if (acted && focused && !focused.isConnected) { // another view: its keys work at once
      const next = [".xb-trail [aria-current]", "[data-item][data-reveal]", "[data-item][tabindex='0']"];
      next.map((name) => root.querySelector(name)).find(Boolean)?.focus({ preventScroll: true });
    }
    for (const target of root.querySelectorAll("[data-reveal]")) {
      if (target.shown !== target.dataset.reveal) reveal(target);
      target.shown = target.dataset.reveal;
    }
    acted = false;
  }
  function fill(slot, trait) {
    const text = model.get(trait);
    if (slot.text !== text) {
      const tree = text ? JSON.parse(text) : "";
      if (slot.drawn === undefined) slot.replaceChildren(build(tree));
      else update(slot.firstChild, slot.drawn, tree);
      slot.drawn = tree;
      slot.text = text;
    }
    for (const inner of slot.querySelectorAll("[data-part]")) {
      if (inner.parentElement.closest("[data-part]") === (slot === root ? null : slot)) {
        fill(inner, inner.dataset.part);
      }
    }
  }
  function reveal(target) {
    const pane = target.closest("[data-scroll]");
    if (!pane) { // what Python shows does not move the page
      if (acted) target.scrollIntoView({ block: "nearest", inline: "nearest" });
      return;
    }
    const [inner, outer] = [target.getBoundingClientRect(), pane.getBoundingClientRect()];
    if (inner.top < outer.top + 26 || inner.bottom > outer.bottom) { // a header takes 26 pixels
      pane.scrollTop += inner.top - outer.top - pane.clientHeight / 3;
    }
    if (inner.left < outer.left + 26 || inner.right > outer.right) {
      pane.scrollLeft += inner.left - outer.left - pane.clientWidth / 3;
    }
  }
  function perform(target) {
    const { do: name, send: text } = target.dataset;
    if (name === undefined) send(target.closest(KEYS).dataset.do, placeOf(target)); // a cell of a grid
    else send(name, text === undefined ? null : JSON.parse(text));
  }
  function valueOf(input) {
    if (input.type === "checkbox") return input.checked;
    if (input.type === "range" || input.type === "number") return Number(input.value);
    return input.localName === "select" ? JSON.parse(input.value) : input.value;
  }

  root.addEventListener("click", (event) => {
    const copied = event.target.closest("[data-copy]");
    if (copied) return void copy(copied);
    const target = event.target.closest("[data-do], [data-keys][data-do] [data-item]");
    if (!target || target.matches("input, select, textarea, :disabled, [data-keys]")) return;
    const fold = event.target.closest("summary");
    if (fold && target === fold && !event.target.closest("[data-fold]")) event.preventDefault();
    else if (event.target.closest("[data-fold]")) return;
    const box = target.closest(KEYS);
    if (target.matches("[data-item]") && box) focusItem(box, target);
    if ("spot" in target.dataset) {
      const { left, top, width, height } = target.getBoundingClientRect();
      return void send(target.dataset.do, [(event.clientX - left) / width, (event.clientY - top) / height]);
    }
    perform(target);
  }, on);

  root.addEventListener("change", (event) => {
    const { target } = event;
    if (!target.dataset.do || target.matches("input[type=search]")) return;
    if (target.matches("textarea")) clearTimeout(timer); // what was typed last is sent now
    if (target.type !== "range") return void send(target.dataset.do, valueOf(target));
    target.moved = Date.now();
    clearTimeout(target.timer); // a held arrow key is a change many times a second
    target.timer = setTimeout(() => send(target.dataset.do, valueOf(target)), TYPING_MILLISECONDS);
  }, on);

  root.addEventListener("input", (event) => {
    const { target } = event;
    if (target.matches("input[type=range]")) {
      const shown = target.parentElement.querySelector("output");
      const digits = Number(target.step) >= 1 ? 0 : Math.ceil(-Math.log10(Number(target.step)) - 1e-9);
      if (shown) shown.textContent = Number(target.value).toFixed(digits);
    }
    if (!target.dataset.do || !target.matches("input[type=search], textarea")) return;
    clearTimeout(timer);
    const { value } = target; // a drawing may come before
    timer = setTimeout(() => send(target.dataset.do, value), TYPING_MILLISECONDS);
  }, on);

  root.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the notebook has keys of its own
    const { target, key } = event;
    if (target.matches("input, select, textarea")) {
      if (key === "Escape" && target.matches("input[type=search]") && target.value) {
        target.value = "";
        send(target.dataset.do, "");
        event.preventDefault();
      } else if (key === "Enter" && target.matches("input[type=search]")) {
        clearTimeout(timer);
        send(target.dataset.do, target.value);
        const found = root.querySelector(`#${CSS.escape(target.getAttribute("aria-controls") ?? "-")} [data-found]`);
        if (found?.closest(KEYS)) focusItem(found.closest(KEYS), found);
      }
      return;
    }
    if (event.altKey || event.metaKey) return;
    const item = target.closest("[data-item]");
    const box = item?.closest(KEYS);
    if (key === "Escape") {
      const way = (item ?? target).closest("[data-escape]") ?? root.querySelector("[data-escape]");
      if (way) send(way.dataset.escape, null);
      event.preventDefault();
      return;
    }
    if (!item || target !== item) return;
    let handled = false;
    if (!event.ctrlKey && box.dataset.labels?.split(" ").includes(key)) {
      send("label", [JSON.parse(item.dataset.send), key]);
      handled = true;
    } else if (key === "Enter" || key === " ") {
      if (item.dataset.do) perform(item);
      else item.click();
      handled = true;
    } else if (box.dataset.keys === "grid") {
      handled = gridKey(box, item, event);
      clearTimeout(moving);
      if (handled === "edge" && box.dataset.edge) send(box.dataset.edge, [JSON.parse(item.dataset.send), key]);
      else if (handled && "follow" in box.dataset) moving = setTimeout(() => perform(box.active), TYPING_MILLISECONDS);
    } else {
      handled = box.dataset.keys === "tree" && treeKey(box, item, key);
      const items = itemsOf(box);
      const along = { ArrowRight: "ArrowDown", ArrowLeft: "ArrowUp" }[key] ?? key;
      const to = handled ? null : moved(along, items.indexOf(item), items.length);
      if (to !== null) focusItem(box, items[to]);
      handled ||= to !== null;
    }
    if (handled) event.preventDefault();
  }, on);

  // Panes of one name scroll together; what is matched with the cell under the pointer is marked.
  root.addEventListener("scroll", ({ target }) => {
    if (!target.dataset?.scroll) return;
    for (const pane of root.querySelectorAll(`[data-scroll="${target.dataset.scroll}"]`)) {
      if (pane.scrollTop !== target.scrollTop) pane.scrollTop = target.scrollTop;
    }
  }, { capture: true, ...on });
  root.addEventListener("pointerover", (event) => {
    const { pair } = event.target.closest("[data-pair]")?.dataset ?? {};
    for (const near of root.querySelectorAll("[data-pair]")) near.toggleAttribute("data-near", near.dataset.pair === pair);
  }, on);

  async function copy(button) {
    const said = button.parentElement.querySelector("[role=status]");
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      if (said) said.textContent = "Copied";
    } catch { // the page may not write to the clipboard: the text is selected, to be copied by hand
      const box = Object.assign(document.createElement("textarea"), { value: button.dataset.copy,
        readOnly: true, rows: 2, ariaLabel: "Press Ctrl+C to copy" });
      button.after(box);
      box.select();
      box.addEventListener("blur", () => box.remove());
      if (said) said.textContent = "Press Ctrl+C to copy";
    }
  }

  /** A color as red, green, blue and opacity, from 0 to 255; browsers write it in many notations. */
  function channelsOf(color) {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = color;
    brush.fillRect(0, 0, 1, 1);
    return brush.getImageData(0, 0, 1, 1).data;
  }

  /** Dark or light is seen from the page behind the view: all front ends have one. */
  function theme() {
    let behind = el;
    let channels = [255, 255, 255, 0];
    while (behind && channels[3] < 128) {
      channels = channelsOf(getComputedStyle(behind).backgroundColor);
      behind = behind.parentElement ?? behind.getRootNode().host;
    }
    const [red, green, blue] = channels[3] < 128 ? [255, 255, 255] : channels;
    root.className = 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "xb-theme xb-dark" : "xb-theme";
  }
  const watch = new MutationObserver(theme);
  const { body, documentElement } = el.ownerDocument;
  for (const page of [body, documentElement]) {
    watch.observe(page, { attributes: true, attributeFilter: ["class", "style", "theme", "data-jp-theme-name", "data-theme"] });
  }

  /** The static version of this view, an output beside it, is for pages without a kernel. */
  function hideTwin(hidden) {
    const name = CSS.escape(model.get("_name"));
    const { ownerDocument } = el;
    if (!hidden && ownerDocument.querySelector(`[data-xb-live="${name}"]`)) return;
    for (const twin of ownerDocument.querySelectorAll(`[data-xb="${name}"]`)) {
      const output = twin.closest(".jp-OutputArea-child, .output_area") ?? twin;
      output.style.display = hidden ? "none" : "";
    }
  }

  const traits = ["change:_style"].concat(Array.from({ length: model.get("_slots") }, (_, at) => `change:_p${at}`));
  let asked = false;
  function redraw() { // several parts change at once: one drawing for all
    if (asked) return;
    asked = true;
    queueMicrotask(() => { asked = false; draw(); });
  }
  for (const trait of traits) model.on(trait, redraw);
  model.on("change:_heard", heard);
  draw();
  theme();
  hideTwin(true);
  requestAnimationFrame(theme); // by now the page has its styles
  return () => {
    end.abort();
    watch.disconnect();
    for (const late of [timer, moving, waiting, patience]) clearTimeout(late);
    model.off("change:_heard", heard);
    for (const trait of traits) model.off(trait, redraw);
    delete el.dataset.xbLive;
    hideTwin(false);
  };
}

export default { render };
