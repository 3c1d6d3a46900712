/** Light or dark, as the reader chose it in the dashboard or here. It runs before the page is shown, so that none flashes. */
(() => {
  const KEPT = "probity.theme";

  function apply() {
    const chosen = localStorage.getItem(KEPT);
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
  }

  apply();
  addEventListener("storage", apply);
})();
