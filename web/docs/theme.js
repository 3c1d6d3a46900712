/** Theme chosen in the dashboard or here. Runs before the first paint to avoid a flash. */
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
