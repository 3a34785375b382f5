// Scores, counts by outcome, what to know to trust them, and the warnings, folded.

function legend(counts) {
  return counts.map(([name, n]) => h("span", { class: "xb-key" },
    h("span", { class: `xb-swatch xb-${name}` }),
    h("span", { text: `${MARKS[name]} ${n.toLocaleString("en")} ${words(name)}` })));
}

function problemPart(problem) {
  if (!problem) return [];
  const [message, text] = problem;
  return [h("div", { class: "xb-note xb-bad", role: "note" },
    h("b", { text: "! The prediction is not JSON. " }), h("span", { text: message }),
    text ? h("pre", { class: "xb-value", dir: "auto", text }) : null)];
}

function warningsPart(groups, count) {
  if (!count) return [];
  const lists = groups.map(([side, kind, n, examples]) => h("div", {},
    h("b", { text: `${side}: ${words(kind)}, ${n.toLocaleString("en")}` }),
    h("ul", {}, ...examples.map(([path, message]) => h("li", {},
      h("code", { text: path }), " ", h("span", { class: "xb-value", dir: "auto", text: message }))),
    n > examples.length
      ? h("li", { class: "xb-quiet", text: `… ${(n - examples.length).toLocaleString("en")} more` })
      : null)));
  return [h("details", {},
    h("summary", { text: `${count.toLocaleString("en")} warning${count === 1 ? "" : "s"}` }),
    ...lists)];
}

function headView({ model, el }) {
  el.classList.add("xb", "xb-head");
  return follow(model, ["data"], () => {
    const head = received(model);
    const scores = head.scores.map(([name, score]) => h("span", { class: "xb-figure" },
      h("span", { class: "xb-quiet", text: name }), " ",
      h("b", { text: score === null ? "n/a" : score.toFixed(3) })));
    el.replaceChildren(h("div", { class: "xb-title", text: head.title }),
      h("div", { class: "xb-figures" }, h("b", { text: head.passes }), ...scores),
      h("div", { class: "xb-legend" },
        head.counts.length ? countsBar(head.counts) : null, ...legend(head.counts)),
      ...problemPart(head.problem),
      ...head.notes.map((text) => h("div", { class: "xb-note", role: "note", text })),
      ...warningsPart(head.warnings, head.warned));
  });
}

export default { render: headView };
