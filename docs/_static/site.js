(() => {
  /* Static twins of views know the dark theme by the attribute that JupyterLab sets. */
  const root = document.documentElement;
  const follow = () => {
    document.body.dataset.jpThemeLight = String(root.dataset.theme !== "dark");
  };
  new MutationObserver(follow).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  follow();
  /* The arrows that unfold the navigation have no names. */
  for (const arrow of document.querySelectorAll("summary:has(> .toctree-toggle)")) {
    const link = arrow.closest("li")?.querySelector("a");
    arrow.setAttribute("aria-label", `Pages below ${link?.textContent.trim() ?? "this one"}`);
  }
})();
