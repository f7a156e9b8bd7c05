// The filters of the board: they stand in the address, and every update asks with them again.
// A link with `data-asks` sets them from its own address. Each step that narrows or widens what is
// shown is a step of the browser's way back; who comes back from another page finds the columns
// scrolled as they were.
(() => {
  const SETTLED = 200;
  const form = document.getElementById("filters");
  const columns = document.getElementById("columns");
  const { unasked } = form.elements.column.dataset;
  const NARROWING = ["type", "owner", "state", "q", "ended"];
  let settling = 0;
  let typing = false;

  function ask(typed = false) {
    clearTimeout(settling);
    const query = new URLSearchParams([...new FormData(form)].filter(([name, value]) => value && !(name === "column" && value === unasked)));
    remember(query, typed);
    htmx.trigger(columns, "asked");
  }

  // The letters of one word are one step; a tab, or more cards in a column, is none.
  function remember(query, typed) {
    const before = new URLSearchParams(location.search);
    const narrows = NARROWING.some((name) => (before.get(name) ?? "") !== (query.get(name) ?? ""));
    const address = query.size ? `?${query}` : location.pathname;
    if (narrows && !(typed && typing)) history.pushState(null, "", address);
    else history.replaceState(history.state, "", address);
    typing = typed;
  }

  function fill(asked) {
    for (const field of form.elements) {
      if (field.name) field.value = asked.get(field.name) ?? (field.name === "column" ? unasked : "");
    }
  }

  function scrollers() {
    return [...document.querySelectorAll(".cards, #column-row")];
  }

  function keepPlaces() {
    const places = scrollers().map(({ id, scrollTop, scrollLeft }) => [id, scrollTop, scrollLeft]);
    sessionStorage.setItem(`places-${location.search}`, JSON.stringify([scrollY, places]));
  }

  function findPlaces() {
    const [top, places] = JSON.parse(sessionStorage.getItem(`places-${location.search}`) ?? "[0, []]");
    for (const [id, down, along] of places) document.getElementById(id)?.scrollTo(along, down);
    scrollTo(0, top);
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
    fill(new URL(link.href).searchParams);
    if (link.dataset.tab) showTab(link);
    ask();
  });

  // Who asks after a move of their own wants to see it: no answer from before will do.
  columns.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.triggeringEvent?.type === "asked") event.detail.headers["Cache-Control"] = "no-cache";
  });

  form.addEventListener("input", (event) => {
    clearTimeout(settling);
    const typed = !event.target.matches("select");
    settling = setTimeout(() => ask(typed), typed ? SETTLED : 0);
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

  form.addEventListener("focusout", () => { typing = false; });

  addEventListener("popstate", () => {
    clearTimeout(settling);
    typing = false;
    fill(new URLSearchParams(location.search));
    const tab = document.querySelector(`[data-tab="${CSS.escape(form.elements.column.value)}"]`);
    if (tab) showTab(tab);
    htmx.trigger(columns, "asked");
  });

  addEventListener("pagehide", keepPlaces);
  if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") findPlaces();
})();
