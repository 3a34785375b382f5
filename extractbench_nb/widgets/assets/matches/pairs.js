// Two columns of items with lines between partners. The page shows what Python sends: one page of
// rows; a choice goes back as a message.
const SIDES = ["left", "right"];
const NAMES = { left: "gold", right: "predicted" };
const SVG = "http://www.w3.org/2000/svg";

function lineOf(status) {
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("class", `xb-line xb-line-${status}`);
  return path;
}

function cardLabel(side, card) {
  const partner = card.partner === null ? "" : `, paired with ${NAMES[side === "left" ? "right" : "left"]} item ${card.partner}`;
  const alike = card.similarity === null ? "" : `, similarity ${scoreText(card.similarity)}`;
  const failed = card.failed.length ? `; failed: ${card.failed.join(", ")}` : "";
  const first = card.lines.slice(0, 2).map(([place, pieces]) =>
    `${place} ${pieces.map(([, text]) => text).join("")}`.trim()).join("; ");
  return `${NAMES[side]} item ${card.at}, ${card.status}${partner}${alike}${failed}. ${first}`.slice(0, 400);
}

function cardLine([place, pieces, failed]) {
  return h("div", { class: failed ? "xb-card-line xb-failed" : "xb-card-line" },
    h("span", { class: "xb-place", text: `${failed ? "≠ " : ""}${place}` }),
    h("span", { class: "xb-value" }, segments(pieces)));
}

function cardOf(side, card) {
  const partner = card.partner === null ? "" : side === "left" ? `→ ${card.partner}` : `${card.partner} →`;
  return h("div", { role: "option", tabindex: "-1", class: `xb-card xb-is-${card.status}`,
    "data-side": side, "data-at": card.at, "aria-label": cardLabel(side, card) },
  h("div", { class: "xb-card-head" },
    h("b", { class: "xb-num", text: String(card.at) }),
    h("span", { class: `xb-status xb-status-${card.status}`, text: `${MARKS[card.status]} ${card.status}` }),
    card.similarity === null ? null : h("span", { class: "xb-num xb-quiet", text: scoreText(card.similarity) }),
    h("span", { class: "xb-partner xb-quiet", text: partner }),
    card.key ? h("span", { class: "xb-value xb-quiet", text: card.key }) : null),
  card.lines.map(cardLine),
  card.more ? h("div", { class: "xb-quiet", text: `… ${card.more} more` }) : null);
}

function pairsView({ model, el }) {
  let data = { left: [], right: [] };
  let active = { side: "left", at: null };
  let lines = [];
  const lists = {};
  const holders = {};
  for (const side of SIDES) {
    lists[side] = h("div", { role: "listbox", "aria-label": `${words(NAMES[side])} items`, class: "xb-list" });
    holders[side] = h("div", { class: "xb-side" },
      h("div", { class: "xb-side-title", text: side === "left" ? "gold" : "predicted", "aria-hidden": "true" }));
  }
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("aria-hidden", "true");
  const area = h("div", { class: "xb-area" }, holders.left,
    h("div", { class: "xb-between" }, svg), holders.right);
  const frame = h("div", { class: "xb-frame" }, area);
  const status = h("span", { role: "status", class: "xb-quiet" });
  const turn = (text, by) => h("button", { type: "button", text, click: () => turnTo(data.page + by) });
  const before = turn("‹ Previous", -1);
  const after = turn("Next ›", 1);
  const empty = h("div", { class: "xb-empty" });
  el.classList.add("xb", "xb-matches");
  el.append(h("div", { class: "xb-pager" }, before, after, status), empty, frame);

  function turnTo(page) {
    model.send({ kind: "page", page });
  }
  function cardAt({ side, at }) {
    return at === null ? null : lists[side].querySelector(`[data-at="${at}"]`);
  }
  function has(side, at) {
    return data[side].some((card) => card.at === at);
  }
  function partnerOf({ side, at }) {
    const card = data[side].find((one) => one.at === at);
    const other = side === "left" ? "right" : "left";
    return card && card.partner !== null && has(other, card.partner) ? { side: other, at: card.partner } : null;
  }

  function place() {
    const box = svg.getBoundingClientRect();
    for (const { path, left, right } of lines) {
      const [one, two] = [cardAt({ side: "left", at: left }), cardAt({ side: "right", at: right })]
        .map((card) => {
          const found = card.getBoundingClientRect();
          return found.top + Math.min(found.height / 2, 22) - box.top;
        });
      const w = box.width;
      path.setAttribute("d", `M0,${one} C${w / 2},${one} ${w / 2},${two} ${w},${two}`);
    }
  }
  function mark(which) {
    for (const card of area.querySelectorAll(".xb-near")) card.classList.remove("xb-near");
    for (const { path } of lines) path.classList.remove("xb-near");
    if (!which) return;
    const partner = partnerOf(which);
    cardAt(which)?.classList.add("xb-near");
    if (!partner) return;
    cardAt(partner)?.classList.add("xb-near");
    const left = which.side === "left" ? which.at : partner.at;
    lines.find((line) => line.left === left)?.path.classList.add("xb-near");
  }
  function choose() {
    const [gold, predicted] = model.get("selected") ?? [null, null];
    for (const card of area.querySelectorAll(".xb-card")) {
      const chosen = Number(card.dataset.at) === (card.dataset.side === "left" ? gold : predicted)
        && (card.dataset.side === "left" ? gold : predicted) !== null;
      card.setAttribute("aria-selected", String(chosen));
    }
    for (const line of lines) line.path.classList.toggle("xb-chosen", line.left === gold);
    const first = area.querySelector('[aria-selected="true"]');
    if (first && !area.contains(document.activeElement)) reveal(first);
  }
  function reveal(card) {
    const [inner, outer] = [card.getBoundingClientRect(), frame.getBoundingClientRect()];
    if (inner.top < outer.top) frame.scrollTop -= outer.top - inner.top;
    else if (inner.bottom > outer.bottom) {
      frame.scrollTop += Math.min(inner.bottom - outer.bottom, inner.top - outer.top);
    }
  }
  function settle(focus) {
    if (active.at === null || !has(active.side, active.at)) {
      const side = data[active.side].length ? active.side : SIDES.find((one) => data[one].length);
      active = side ? { side, at: data[side][0].at } : { side: "left", at: null };
    }
    for (const side of SIDES) {
      const own = active.side === side ? active.at : data[side][0]?.at;
      for (const card of lists[side].children) card.tabIndex = Number(card.dataset.at) === own ? 0 : -1;
    }
    if (focus) cardAt(active)?.focus();
  }
  function draw() {
    const focus = area.contains(document.activeElement);
    const earlier = data.page;
    data = received(model) ?? data;
    for (const side of SIDES) {
      const other = h("div", { class: "xb-empty", text: `No ${NAMES[side]} items here.` });
      lists[side].replaceChildren(...data[side].map((card) => cardOf(side, card)));
      holders[side].replaceChildren(holders[side].firstChild, data[side].length ? lists[side] : other);
    }
    lines = data.left.filter((card) => card.partner !== null && has("right", card.partner))
      .map((card) => ({ path: lineOf(card.status), left: card.at, right: card.partner }));
    svg.replaceChildren(...lines.map((line) => line.path));
    if (data.page !== earlier) frame.scrollTop = 0;
    frame.hidden = !data.rows;
    empty.hidden = Boolean(data.rows);
    empty.textContent = data.empty ?? "";
    before.disabled = !data.page;
    after.disabled = data.page + 1 >= data.pages;
    status.textContent = data.rows ? `rows ${data.first}–${data.last} of ${data.rows.toLocaleString("en")}` : "no rows";
    settle(focus);
    place();
    choose();
  }

  function goTo(target) {
    active = target;
    settle(true);
    reveal(cardAt(active));
  }
  function keys(event) {
    const shown = data[active.side];
    const to = step(event.key, shown.findIndex((card) => card.at === active.at), shown.length);
    const across = { ArrowRight: "right", ArrowLeft: "left" }[event.key];
    if (to !== null) goTo({ side: active.side, at: shown[to].at });
    else if (across) {
      const partner = across === active.side ? null : partnerOf(active);
      if (partner) goTo(partner);
    } else if (event.key === "Enter" || event.key === " ") pick();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  function pick() {
    if (active.at !== null) model.send({ kind: "select", side: NAMES[active.side], index: active.at });
  }
  function under(event) {
    const card = event.target.closest?.(".xb-card");
    return card ? { side: card.dataset.side, at: Number(card.dataset.at) } : null;
  }
  area.addEventListener("keydown", keys);
  area.addEventListener("click", (event) => {
    const which = under(event);
    if (which) { goTo(which); pick(); }
  });
  area.addEventListener("focusin", (event) => {
    const which = under(event);
    if (which) { active = which; settle(false); mark(which); }
  });
  area.addEventListener("focusout", () => mark(null));
  area.addEventListener("mouseover", (event) => mark(under(event)));
  area.addEventListener("mouseleave", () => mark(null));
  const sizes = new ResizeObserver(place);
  sizes.observe(area);
  const stops = [follow(model, ["data"], draw), follow(model, ["selected"], choose)];
  return () => { sizes.disconnect(); stops.forEach((stop) => stop()); };
}

export default { render: pairsView };
