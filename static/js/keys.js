// Single keys, never while somebody types: J K H L among cards, G B to the board, ? for all keys,
// whatever carries `data-key` (the page's own before the shell's), and `data-card-key` in the card
// that has the focus. Who wants none has `data-keys="off"` on the body.
(() => {
  let leading = false;

  function cards(column) {
    return [...column.querySelectorAll(".card-link")];
  }

  function columns() {
    return [...document.querySelectorAll(".column")].filter((column) => column.offsetParent && cards(column).length);
  }

  function walk(along, across) {
    const all = columns();
    if (!all.length) return false;
    const current = document.activeElement.closest?.(".column");
    if (!current || !document.activeElement.matches(".card-link")) {
      cards(all[0])[0].focus();
      return true;
    }
    const row = cards(current).indexOf(document.activeElement);
    const column = all[Math.min(all.length - 1, Math.max(0, all.indexOf(current) + across))];
    const line = cards(column);
    line[Math.min(line.length - 1, Math.max(0, row + along))].focus();
    return true;
  }

  function follow(key) {
    const card = document.activeElement.closest?.("[data-moves]");
    const named = card?.querySelector(`[data-card-key="${CSS.escape(key)}"]`) ?? [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].at(-1);
    if (!named) return false;
    if (named.matches("input")) named.select();
    else named.click();
    return true;
  }

  const steps = { j: [1, 0], k: [-1, 0], h: [0, -1], l: [0, 1] };
  const arrows = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    // Of dialogs only open ones: the focus leaves one that was closed with the next frame, not before.
    if (event.target.closest("input, textarea, select, [contenteditable], dialog[open]")) return;
    if (document.body.dataset.keys === "off" && event.key.length === 1) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const led = leading;
    leading = key === "g";
    let done = false;
    if (led) {
      const page = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
      if (page) page.click();
      done = Boolean(page);
    } else if (key === "?") {
      document.getElementById("keys").showModal();
      done = true;
    } else if (steps[key]) {
      done = walk(...steps[key]) || follow(key);
    } else if (arrows[key] && event.target.matches(".card-link")) {
      done = walk(...arrows[key]);
    } else if (event.key.length === 1) {
      done = follow(key);
    }
    if (done) event.preventDefault();
  });
})();
