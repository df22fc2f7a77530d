// The theme that was chosen, before anything is drawn.
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch { /* no storage: as the system has it */ }
})();
