// The search of the top bar: what is found opens below it; arrows choose, Enter goes, Esc closes.
(() => {
  const field = document.getElementById("search-text");
  const list = document.getElementById("hits");
  if (!field) return;

  function hits() {
    return [...list.querySelectorAll("a[role=option]")];
  }

  function chosen() {
    return hits().find((hit) => hit.ariaSelected === "true");
  }

  function open(shows) {
    list.hidden = !shows;
    field.setAttribute("aria-expanded", String(shows));
    if (!shows) field.removeAttribute("aria-activedescendant");
  }

  function choose(along) {
    const all = hits();
    if (!all.length) return;
    const next = all[(all.indexOf(chosen()) + along + all.length) % all.length] ?? all[0];
    for (const hit of all) hit.setAttribute("aria-selected", String(hit === next));
    field.setAttribute("aria-activedescendant", next.id);
    next.scrollIntoView({ block: "nearest" });
  }

  list.addEventListener("htmx:afterSwap", () => {
    field.removeAttribute("aria-activedescendant");
    open(list.childElementCount > 0 && document.activeElement === field);
  });

  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (list.hidden && !field.value) field.blur();
      field.value = "";
      open(false);
      return;
    }
    if (list.hidden) return;
    const along = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (along) {
      event.preventDefault();
      choose(chosen() || along > 0 ? along : 0);
    } else if (event.key === "Enter" && chosen()) {
      event.preventDefault();
      chosen().click();
    }
  });

  field.addEventListener("focus", () => open(list.childElementCount > 0 && Boolean(field.value)));
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".site-search")) open(false);
  });
  field.addEventListener("blur", (event) => {
    if (!list.contains(event.relatedTarget)) setTimeout(() => open(document.activeElement === field && !list.hidden), 150);
  });
})();
