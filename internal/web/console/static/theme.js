// The theme that was chosen, and that there are scripts, before anything is drawn.
(() => {
  document.documentElement.dataset.script = "on";
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch { /* no storage: as the system has it */ }
})();

// Keys that are pressed before the pages' script is there are kept for it.
(() => {
  const early = [];
  const keep = (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.repeat || e.key.length > 1 && e.key !== "Enter") return;
    if (e.target.matches && e.target.matches("a, button, summary, input, textarea, select, [contenteditable]")) return;
    early.push({ key: e.key, at: Date.now() });
  };
  document.addEventListener("keydown", keep);
  window.takeEarlyKeys = () => {
    document.removeEventListener("keydown", keep);
    delete window.takeEarlyKeys;
    return early;
  };
})();
