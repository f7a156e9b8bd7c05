// The review page: what is shown of an answer, notes that survive, the reservation, where the focus
// lands after a verdict, and the sheets.
(() => {
  const SETTLED = 400;
  const RENEWED = 60_000;
  const frame = document.querySelector(".review-frame");
  const sheet = document.getElementById("sheet");
  const live = document.getElementById("live");
  let reservedAt = 0;
  let reserving = 0;

  // Fields, raw or (on a narrow screen) input: kept from item to item.
  function paint() {
    for (const button of live.querySelectorAll("[data-shows]")) {
      button.setAttribute("aria-pressed", String(button.dataset.shows === frame.dataset.view));
    }
  }

  function show(view) {
    frame.dataset.view = frame.dataset.view === view ? "fields" : view;
    paint();
  }

  // A note is kept until the tab is closed, so that neither J nor a verdict taken back loses it.
  function note() {
    return live.querySelector("[data-note]");
  }

  function restore() {
    const field = note();
    if (field && !field.value) field.value = sessionStorage.getItem(`note-${field.dataset.note}`) ?? "";
  }

  function askForNote() {
    note().closest(".note").classList.add("is-asked");
    note().setAttribute("aria-invalid", "true");
    note().focus();
  }

  function failButton() {
    return live.querySelector("#verdict [value=fail]");
  }

  // The result that is looked at is reserved while somebody is active here.
  function reserve() {
    clearTimeout(reserving);
    reserving = setTimeout(() => {
      const form = document.getElementById("reservation");
      if (!form || document.hidden) return;
      reservedAt = Date.now();
      htmx.trigger(form, "reserve");
    }, SETTLED);
  }

  function active() {
    if (Date.now() - reservedAt > RENEWED) reserve();
  }

  function leave() {
    const form = document.getElementById("reservation");
    if (form?.dataset.standing !== "mine") return;
    const body = new FormData(document.getElementById("looking-at"));
    body.append("leaves", "1");
    fetch(form.action, { method: "POST", body, keepalive: true });
  }

  function arrived() {
    (live.querySelector("[data-lands]") ?? document.getElementById("item-title"))?.focus({ preventScroll: true });
    document.getElementById("review-item")?.scrollTo(0, 0);
    if (innerWidth < 1100) scrollTo(0, 0);
    document.querySelector("#review-errors [role=alert]")?.focus();
    live.querySelector(".drawn[aria-current]")?.scrollIntoView({ block: "nearest" });
    reserve();
  }

  document.addEventListener("click", (event) => {
    const view = event.target.closest("[data-shows]");
    if (view) show(view.dataset.shows);
    if (event.target.closest("[data-opens-note]")) note()?.focus();
    const closer = event.target.closest("a[data-closes]");
    if (closer?.closest("dialog")) event.preventDefault();
    if (event.target.closest("a[aria-disabled]")) event.preventDefault();
  });

  document.addEventListener("submit", (event) => {
    if (event.submitter?.value !== "fail" || !note() || note().value.trim()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    askForNote();
  }, true);

  document.addEventListener("keydown", (event) => {
    if (event.target !== note()) return;
    if (event.key === "Escape") document.getElementById("item-title").focus();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) failButton()?.click();
  });

  document.addEventListener("input", (event) => {
    if (event.target !== note()) return;
    sessionStorage.setItem(`note-${event.target.dataset.note}`, event.target.value);
    event.target.removeAttribute("aria-invalid");
  });

  for (const kind of ["keydown", "pointerdown", "pointermove", "wheel"]) {
    document.addEventListener(kind, active, { passive: true });
  }

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === sheet) sheet.showModal();
    if (event.detail.target !== live) return;
    paint();
    restore();
    if (event.detail.requestConfig.elt !== live && event.detail.requestConfig.elt.id !== "reservation") arrived();
  });

  addEventListener("pagehide", leave);
  restore();
  paint();
  reserve();
})();
