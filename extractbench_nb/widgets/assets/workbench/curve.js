// The share that passes at each value of a param, as SVG; a click or the arrow keys set the param.
const SVG = "http://www.w3.org/2000/svg";
const EDGE = { left: 38, right: 12, top: 22, bottom: 34 };
const HEIGHT = 240;

function s(tag, options = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") element.textContent = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

function nearest(numbers, wanted) {
  const gaps = numbers.map((found) => Math.abs(found - wanted));
  return gaps.indexOf(Math.min(...gaps));
}

/** Between two values the next one holds where the line falls to it (a case passes at its score,
 *  not above), else the one before. */
function asStairs(xs, ys, falls) {
  let path = "";
  let open = false;
  ys.forEach((y, n) => {
    if (y === null) { open = false; return; }
    const [across, down] = [`H${xs[n].toFixed(1)}`, `V${y.toFixed(1)}`];
    path += open ? (falls ? down + across : across + down) : `M${xs[n].toFixed(1)} ${y.toFixed(1)}`;
    open = true;
  });
  return path;
}

function axes(curve, x, y) {
  const parts = [];
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    parts.push(s("line", { class: "xb-rule", x1: x(0), x2: x(1), y1: y(share), y2: y(share) }),
      s("text", { x: EDGE.left - 6, y: y(share) + 4, "text-anchor": "end", text: `${100 * share}%` }));
  }
  let end = -Infinity;
  for (const n of curve.ticks) {
    const half = 3.4 * curve.texts[n].length;
    if (x(curve.places[n]) - half < end + 6) continue;
    end = x(curve.places[n]) + half;
    parts.push(s("text", { x: x(curve.places[n]), y: HEIGHT - EDGE.bottom + 16,
      "text-anchor": "middle", text: curve.texts[n] }));
  }
  parts.push(s("text", { class: "xb-axis", x: x(0.5), y: HEIGHT - 3, "text-anchor": "middle",
    text: curve.over }));
  return parts;
}

function curveView({ model, el }) {
  const svg = s("svg", { height: HEIGHT });
  const legend = h("ul", { class: "xb-legend" });
  const best = h("p", { class: "xb-quiet" });
  let curve = null;
  let at = null;
  let wanted = null;
  const name = Math.random().toString(36).slice(2);
  let asks = 0;
  let asked = null;  // what Python has not answered yet: until then the mark stays where it was put
  let waiting = null;
  el.classList.add("xb", "xb-workbench", "xb-curve");
  el.append(svg, legend, best);

  function words() {
    if (at === null) return `${curve.lines[0][0]} over ${curve.over}`;
    return `${curve.texts[at]}: ${curve.passing[at]} of ${curve.cases} pass`;
  }
  function describe() {
    const label = curve.settable ? `${curve.over}, set by arrow keys or a click`
      : `Share of cases with at least this ${curve.over}`;
    const values = curve.settable ? { role: "slider", tabindex: "0", "aria-valuemin": 0,
      "aria-valuemax": curve.texts.length - 1, "aria-valuenow": at ?? 0,
      "aria-valuetext": words() } : { role: "img" };
    for (const name of ["tabindex", "aria-valuemin", "aria-valuemax", "aria-valuenow",
      "aria-valuetext"]) if (!(name in values)) svg.removeAttribute(name);
    for (const [name, value] of Object.entries({ ...values, "aria-label": label })) {
      svg.setAttribute(name, value);
    }
    legend.replaceChildren(...curve.lines.map(([name, shares], n) => h("li", {},
      s("svg", { width: 26, height: 10, "aria-hidden": "true" },
        s("path", { class: `xb-line xb-line${n}`, d: "M0 5H26" })),
      h("span", { text: at === null || shares[at] === null ? name
        : `${name} ${n ? shares[at].toFixed(2) : percent(shares[at])}` }))));
    best.textContent = curve.best;
  }
  /** A line with its words beside it: away from the other line, where there is room. */
  function mark(n, other, kind, text, x, y) {
    const at = x(curve.places[n]);
    const room = 7 * text.length;
    const before = at - room > x(0) && (at + room > x(1) + EDGE.right || (other !== null && other > n));
    return [s("line", { class: kind, x1: at, x2: at, y1: y(1) - 6, y2: y(0) }),
      s("text", { class: kind, x: at + (before ? -5 : 5), y: kind === "xb-then" ? y(0) - 5 : y(1) - 8,
        "text-anchor": before ? "end" : "start", text })];
  }
  function draw() {
    if (!curve) return;
    const width = Math.max(240, Math.floor(el.clientWidth) - 8);
    const x = (place) => EDGE.left + place * (width - EDGE.left - EDGE.right);
    const y = (share) => HEIGHT - EDGE.bottom
      - Math.max(0, share) * (HEIGHT - EDGE.bottom - EDGE.top);
    const xs = curve.places.map(x);
    const falls = curve.passing[0] >= curve.passing.at(-1);
    const lines = curve.lines.map(([, shares], n) => s("path", { class: `xb-line xb-line${n}`,
      d: asStairs(xs, shares.map((share) => (share === null ? null : y(share))), falls) })).reverse();
    const marks = [];
    if (curve.baseline !== null && curve.baseline !== at) {
      const words = `baseline ${curve.texts[curve.baseline]}`;
      marks.push(...mark(curve.baseline, at, "xb-then", words, x, y));
    }
    if (at !== null) {
      marks.push(...mark(at, curve.baseline, "xb-now", curve.texts[at], x, y),
        s("circle", { class: "xb-now", cx: x(curve.places[at]), cy: y(curve.lines[0][1][at] ?? 0),
          r: 4.5 }));
    }
    svg.setAttribute("width", width);
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    svg.replaceChildren(...axes(curve, x, y), ...lines, ...marks);
    describe();
  }
  function goTo(n, wait) {
    at = n;
    wanted = curve.values[n];
    draw();
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      waiting = null;
      asked = `${name}/${++asks}`;
      model.send({ kind: "set", over: curve.over, value: wanted, asked });
    }, wait);
  }
  function click(event) {
    if (!curve?.settable) return;
    const box = svg.getBoundingClientRect();
    const inner = box.width - EDGE.left - EDGE.right;
    const place = (event.clientX - box.left - EDGE.left) / inner;
    svg.focus();
    goTo(nearest(curve.places, place), 0);
  }
  function keys(event) {
    if (!curve?.settable) return;
    const arrow = { ArrowRight: "ArrowDown", ArrowLeft: "ArrowUp", ArrowUp: "ArrowDown",
      ArrowDown: "ArrowUp", PageUp: "PageDown", PageDown: "PageUp" }[event.key] ?? event.key;
    const to = step(arrow, at ?? 0, curve.texts.length);
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    goTo(to, 150);
  }
  svg.addEventListener("click", click);
  svg.addEventListener("keydown", keys);
  const sizes = new ResizeObserver(draw);
  sizes.observe(el);
  const stop = follow(model, ["data"], () => {
    const before = curve;
    curve = received(model);
    if (curve?.answered === asked) asked = null;
    const moving = (waiting ?? asked) !== null && before?.over === curve?.over;
    at = moving ? nearest(curve.values, wanted) : curve?.at ?? null;
    draw();
  });
  return () => { clearTimeout(waiting); sizes.disconnect(); stop(); };
}

export default { render: curveView };
