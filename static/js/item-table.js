// The table of items: J and K along the rows, X selects; buttons say how many they would act on;
// what changed while the pointer held the rows still is counted, and shown when asked for.
(() => {
  const picks = () => [...document.querySelectorAll(".items tbody .pick input")];
  const picked = () => picks().filter((box) => box.checked);

  function count() {
    const rows = picked().map((box) => box.closest("tr"));
    const note = document.getElementById("selected");
    if (note) note.textContent = rows.length ? `${rows.length} selected` : "";
    for (const button of document.querySelectorAll("[data-counts]")) {
      const label = button.querySelector("[data-label]");
      const number = rows.filter((row) => row.dataset.state === button.dataset.counts).length;
      if (rows.length) {
        label.dataset.all ||= label.textContent;
        label.textContent = label.dataset.label.replace("{n}", number);
      } else if (label.dataset.all) {
        label.textContent = label.dataset.all;
        delete label.dataset.all;
      }
      button.toggleAttribute("hidden", rows.length ? !number : button.dataset.all === "0");
      for (const place of document.querySelectorAll(`[data-number="${button.id}"]`)) {
        place.textContent = label.textContent.match(/(over )?[\d,]+/)?.[0] ?? "these";
      }
    }
    const all = document.getElementById("pick-all");
    if (!all) return;
    all.checked = rows.length > 0 && rows.length === picks().length;
    all.indeterminate = rows.length > 0 && !all.checked;
  }

  document.addEventListener("change", (event) => {
    if (event.target.id === "pick-all") for (const box of picks()) box.checked = event.target.checked;
    if (event.target.closest(".items")) count();
  });
  document.addEventListener("htmx:afterSwap", count);
  addEventListener("pageshow", count);

  document.addEventListener("steady:held", (event) => {
    const note = document.getElementById("held");
    const fresh = new Map([...event.detail.querySelectorAll("tbody tr")].map((row) => [row.id, row.textContent]));
    const rows = [...event.target.querySelectorAll("tbody tr")];
    const gone = rows.filter((row) => fresh.get(row.id) !== row.textContent).length;
    const come = [...fresh.keys()].filter((id) => !document.getElementById(id)).length;
    const changed = Math.max(gone, come);
    note.hidden = !changed;
    note.querySelector("span").textContent = `${changed} changed`;
  });
  document.getElementById("live").addEventListener("click", (event) => {
    if (!event.target.closest("#held button")) return;
    const frame = document.getElementById("item-frame");
    if (frame) frame.dataset.letGo = "";
    document.getElementById("held").hidden = true;
    htmx.trigger("#live", "again");
  });

  function walk(along) {
    const links = [...document.querySelectorAll(".row-link")];
    if (!links.length) return false;
    const here = links.indexOf(document.activeElement.closest?.("tr")?.querySelector(".row-link"));
    links[Math.min(links.length - 1, Math.max(0, here < 0 ? 0 : here + along))].focus();
    return true;
  }

  function select() {
    const box = document.activeElement.closest?.(".items tbody tr")?.querySelector(".pick input");
    if (!box) return false;
    box.click();
    return true;
  }

  const keys = { j: () => walk(1), k: () => walk(-1), x: select };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.body.dataset.keys === "off") return;
    const typing = event.target.closest("input:not([type=checkbox]), textarea, select, dialog");
    if (!typing && keys[event.key.toLowerCase()]?.()) event.preventDefault();
  });
})();
