// Elements whose texts are text nodes: nothing that comes from a document is ever parsed as HTML.
// The parts of a view are joined to one module in the order in which the pane names them.

function h(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const OUTCOMES = ["correct", "both_absent", "incorrect", "omission", "hallucination",
  "structural", "judge_error"];
const MARKS = { correct: "✓", both_absent: "∅", incorrect: "≠", omission: "−",
  hallucination: "+", structural: "!", judge_error: "?",
  matched: "✓", partial: "≈", missed: "−", spurious: "+" };

function words(name) {
  return name.replaceAll("_", " ");
}

/** A score with two digits: 1.00 is exactly 1 and 0.00 exactly 0, as score_text writes it. */
function scoreText(score) {
  if (score === null) return "n/a";
  if (score <= 0 || score >= 1) return score <= 0 ? "0.00" : "1.00";
  const hundredths = Math.min(99, Math.max(1, Math.floor(100 * score + 0.5)));
  return `0.${String(hundredths).padStart(2, "0")}`;
}

/** Describe counts such as [["correct", 3], ["omission", 1]] in words. */
function countsText(counts) {
  return counts.map(([name, n]) => `${n} ${words(name)}`).join(", ");
}

/** A bar of counts; its label says what its colours show. */
function countsBar(counts) {
  const total = counts.reduce((sum, [, n]) => sum + n, 0);
  const label = countsText(counts);
  const bar = h("span", { class: "xb-bar", role: "img", "aria-label": label, title: label });
  for (const [name, n] of counts) {
    const part = h("span", { class: `xb-part xb-${name}` });
    part.style.flexGrow = String(n / total);
    bar.append(part);
  }
  return bar;
}

/** The two sides of a comparison arrive as [kind, text] pairs. */
function segments(side) {
  return side.map(([kind, text]) =>
    kind === "changed" ? h("mark", { class: "xb-changed", text })
      : h("span", { class: kind === "note" ? "xb-quiet" : null, text }));
}

/** Call `draw` at once and whenever one of the traits changes; return what stops it. */
function follow(model, traits, draw) {
  const events = traits.map((name) => `change:${name}`).join(" ");
  model.on(events, draw);
  draw();
  return () => model.off(events, draw);
}

/** The view model that Python sends is JSON text: the order of its keys survives. */
function received(model, trait = "data") {
  const text = model.get(trait);
  return text ? JSON.parse(text) : null;
}

/** Rows that came as {columns, rows} as objects. */
function records({ columns, rows }) {
  return rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
}

function set(model, values) {
  for (const [name, value] of Object.entries(values)) model.set(name, value);
  model.save_changes();
}

/** Keys that a roving focus understands, as steps in a list of `size`; null for other keys. */
function step(key, at, size, page = 10) {
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page,
    Home: 0, End: size - 1 }[key];
  return to === undefined ? null : Math.max(0, Math.min(size - 1, to));
}
