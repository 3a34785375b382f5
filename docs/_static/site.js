/* Static twins of views know the dark theme by the attribute that JupyterLab sets. */
const { documentElement: root } = document;
function follow() {
  document.body.dataset.jpThemeLight = String(root.dataset.theme !== "dark");
}
new MutationObserver(follow).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
follow();
