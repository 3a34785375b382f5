// A page of the PDF with the places of a value marked; keys turn pages and go from place to place.
function pageView({ model, el }) {
  let address = "";
  const picture = h("img", { class: "xb-page", alt: "" });
  const says = h("div", { class: "xb-says", role: "status" });
  const buttons = {
    place: [h("button", { type: "button", text: "‹ Place" }), h("button", { type: "button", text: "Place ›" })],
    page: [h("button", { type: "button", text: "‹ Page" }), h("button", { type: "button", text: "Page ›" })],
  };
  const where = h("span", { class: "xb-quiet" });
  const scroll = h("div", { class: "xb-scroll", tabindex: "0", role: "region",
    "aria-label": "Page of the PDF" }, picture);
  el.classList.add("xb", "xb-page-view");
  el.append(says, h("div", { class: "xb-pager" }, ...buttons.place, ...buttons.page, where), scroll);

  for (const [kind, pair] of Object.entries(buttons)) {
    pair.forEach((button, at) => button.addEventListener("click", () =>
      model.send({ kind, by: at === 0 ? -1 : 1 })));
  }
  scroll.addEventListener("keydown", (event) => {
    event.stopPropagation(); // its keys scroll it, not the notebook
    const kind = { n: ["place", 1], p: ["place", -1], PageDown: ["page", 1], PageUp: ["page", -1] }[event.key];
    if (!kind) return;
    model.send({ kind: kind[0], by: kind[1] });
    event.preventDefault();
  });

  const stops = [
    follow(model, ["image"], () => {
      const bytes = model.get("image");
      if (address) URL.revokeObjectURL(address);
      const empty = !bytes || bytes.byteLength === 0;
      address = empty ? "" : URL.createObjectURL(new Blob([bytes], { type: "image/png" }));
      picture.hidden = empty;
      if (!empty) picture.src = address;
    }),
    follow(model, ["data"], () => {
      const data = received(model);
      if (!data) return;
      says.replaceChildren(h("b", { text: data.title }),
        ...data.lines.map((text) => h("div", { class: "xb-value xb-clamp", dir: "auto", text })));
      says.classList.toggle("xb-bad", data.missing);
      where.textContent = data.where;
      picture.alt = data.alt;
      buttons.place.forEach((button, at) => { button.disabled = !data.turns[at]; });
      buttons.page.forEach((button, at) => { button.disabled = !data.turns[at + 2]; });
    }),
  ];
  picture.addEventListener("load", () => {
    const top = (received(model)?.top ?? 0) * picture.clientHeight;
    scroll.scrollTop = Math.max(0, top - scroll.clientHeight / 3);
  });
  return () => {
    stops.forEach((stop) => stop());
    if (address) URL.revokeObjectURL(address);
  };
}

export default { render: pageView };
