(() => {
  /* Static views follow the dark theme by the attribute that JupyterLab sets. */
  const root = document.documentElement;
  const follow = () => {
    document.body.dataset.jpThemeLight = String(root.dataset.theme !== "dark");
  };
  new MutationObserver(follow).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  follow();
  /* A live view lets the keyboard scroll its parts; a static view has no script for that. */
  const reach = () => {
    for (const part of document.querySelectorAll(".xb-twin, .xb-twin :is(div, dd, pre, ul)")) {
      const cut = part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight;
      if (cut && /auto|scroll/.test(getComputedStyle(part).overflow)) part.tabIndex = 0;
    }
  };
  addEventListener("resize", reach);
  reach();
  /* The arrows that unfold the navigation have no names. */
  for (const arrow of document.querySelectorAll("summary:has(> .toctree-toggle)")) {
    const link = arrow.closest("li")?.querySelector("a");
    arrow.setAttribute("aria-label", `Pages below ${link?.textContent.trim() ?? "this one"}`);
  }
})();
