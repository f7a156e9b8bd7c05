// The keys of an item, beside its batch as on its own page: J and K go to the neighbours, R sends a
// dead one again or opens the raw answer, and Esc leads from its own page back to the batch.
(() => {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    const item = document.getElementById("item-shown");
    if (!item) return;
    if (event.key === "Escape") {
      if (!document.querySelector("dialog[open]")) item.querySelector("[data-drawer-close]").click();
      return;
    }
    const over = document.querySelector("dialog[open]");
    if (document.body.dataset.keys === "off" || (over && !over.contains(item))) return;
    const key = event.key.toLowerCase();
    const does = item.querySelector(`[data-item-key="${CSS.escape(key)}"]`);
    const raw = item.querySelector("[data-raw]");
    if (does) does.click();
    else if (key === "r" && raw) raw.open = !raw.open;
    else return;
    event.preventDefault();
  });
})();
