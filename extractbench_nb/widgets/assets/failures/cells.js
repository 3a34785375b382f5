// The heatmap's cells and headers: how they look, and what a screen reader says of them.

const MEASURES = { score: "mean score", pass_rate: "pass rate", outcome: "most frequent outcome" };
const INVALID = "⊘";

/** Steps of the colour scale, 0 to 10; only an exact 0 and an exact 1 are at its ends. */
function shade(value) {
  return value <= 0 ? 0 : value >= 1 ? 10 : 1 + Math.min(8, Math.floor(value * 9));
}

/** After a redraw the focus is on the same button, or on one that still does something. */
function refocus(tools, held) {
  const live = [...tools.querySelectorAll("button:enabled")];
  (live.find((button) => button.ariaLabel === held.ariaLabel) ?? live[0])?.focus();
}

function count(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

/** A name that breaks into lines between its words, not within them. */
function breakable(name) {
  return name.split(/(?<=[_./\-\s])/).flatMap((part) => [part, h("wbr")]);
}

function asCell(values) {
  if (values === null) return null;
  const [rows, passed, score, pass_rate, outcome, most, invalid] = values;
  return { rows, passed, score, pass_rate, outcome, most, invalid };
}

function cellLook(cell, measure) {
  if (cell === null) return { kind: "xb-absent", text: "·" };
  const partly = cell.invalid > 0 ? " xb-partly" : "";
  if (cell.invalid === cell.rows) return { kind: "xb-invalid xb-s0", text: INVALID };
  if (measure === "outcome") {
    return { kind: `xb-tint xb-t-${cell.outcome}${partly}`, text: MARKS[cell.outcome] };
  }
  const value = measure === "score" ? cell.score : cell.pass_rate;
  return { kind: `xb-s${shade(value)}${partly}`, text: scoreText(value) };
}

function cellSays(cell, absent) {
  if (cell === null) return absent;
  const said = [`mean score ${scoreText(cell.score)}, pass rate ${scoreText(cell.pass_rate)}`,
    `${cell.passed} of ${count(cell.rows, "row")} pass`,
    `most frequent: ${words(cell.outcome)}, ${cell.most}`];
  if (cell.invalid) said.push(`${cell.invalid} of an invalid output`);
  return said.join("; ");
}

function lineSays(line, grouped) {
  const said = [`mean score ${scoreText(line.score)}, pass rate ${scoreText(line.pass_rate)}, `
    + count(line.rows, "row")];
  if (grouped) said.unshift(`schema ${line.group}`);
  if (line.failed) said.push("failed by every run");
  if (line.invalid) said.push(`${line.invalid} of ${count(line.outputs, "output")} invalid`);
  return said.join("; ");
}

function lineHead(line, measure, grouped, wide) {
  const value = measure === "score" ? line.score : line.pass_rate;
  const signs = (line.failed ? "✗" : "") + (line.invalid ? INVALID : "");
  const says = lineSays(line, grouped);
  return { label: `${line.title}; ${says}`, title: `${line.title}\n${says}`, parts: [
    h("span", { class: "xb-line", dir: "auto" }, wide ? breakable(line.name) : line.name),
    h("span", { class: "xb-signs", text: signs }),
    h("span", { class: "xb-mean", text: scoreText(value) })] };
}

/** What the colours and signs mean. */
function legend({ measure, absent, every, cells, rows }) {
  const key = (kind, text, meaning) => h("span", { class: "xb-key" },
    h("span", { class: `xb-swatch ${kind}`, "aria-hidden": "true", text }), meaning);
  const scale = measure === "outcome"
    ? OUTCOMES.map((name) => key(`xb-tint xb-t-${name}`, MARKS[name], words(name)))
    : [h("span", { class: "xb-key" }, `${MEASURES[measure]} 0`,
      h("span", { class: "xb-scale", "aria-hidden": "true" },
        [...Array(11).keys()].map((at) => h("i", { class: `xb-s${at}` }))), "1")];
  const shown = cells.flat().map(asCell);
  const some = (test) => shown.some((cell) => cell !== null && test(cell));
  const failed = records(rows).some((line) => line.failed);
  const keys = [
    [shown.includes(null), () => key("xb-absent", "·", absent)],
    [some((cell) => cell.invalid === cell.rows),
      () => key("xb-invalid xb-s0", INVALID, "invalid output: no JSON")],
    [some((cell) => cell.invalid && cell.invalid < cell.rows),
      () => key("xb-partly xb-s6", "", "some outputs invalid")],
    [failed, () => h("span", { class: "xb-key" },
      h("b", { class: "xb-signs", text: "✗" }), "failed by every run")]];
  return h("div", { class: "xb-legend" }, scale,
    keys.filter(([there]) => there).map(([, draw]) => draw()),
    h("span", { class: "xb-key xb-quiet", text: every }));
}
