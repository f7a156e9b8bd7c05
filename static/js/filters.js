// The filters of the board: they stand in the address, and every update asks with them again.
// A link with `data-asks` sets them from its own address.
(() => {
  const SETTLED = 200;
  const form = document.getElementById("filters");
  const columns = document.getElementById("columns");
  let settling = 0;

  function ask() {
    clearTimeout(settling);
    const query = new URLSearchParams([...new FormData(form)].filter(([name, value]) => value && !(name === "column" && value === "running")));
    history.replaceState(history.state, "", query.size ? `?${query}` : location.pathname);
    htmx.trigger(columns, "asked");
  }

  function showTab(link) {
    for (const tab of link.parentElement.children) tab.toggleAttribute("aria-current", false);
    link.setAttribute("aria-current", "true");
    for (const column of document.querySelectorAll(".column")) {
      column.classList.toggle("is-shown", column.dataset.column === link.dataset.tab);
    }
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-asks]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    const asked = new URL(link.href).searchParams;
    for (const field of form.elements) {
      if (field.name) field.value = asked.get(field.name) ?? (field.name === "column" ? "running" : "");
    }
    if (link.dataset.tab) showTab(link);
    ask();
  });

  // Who asks after a move of their own wants to see it: no answer from before will do.
  columns.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.triggeringEvent?.type === "asked") event.detail.headers["Cache-Control"] = "no-cache";
  });

  form.addEventListener("input", (event) => {
    clearTimeout(settling);
    settling = setTimeout(ask, event.target.matches("select") ? 0 : SETTLED);
  });

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });

  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !event.target.matches("input")) return;
    if (event.target.value) {
      event.target.value = "";
      ask();
    } else {
      event.target.blur();
    }
  });
})();
