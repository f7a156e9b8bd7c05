// Opens `a[data-drawer]` beside the page, at the link's own address. Esc and the browser's way back
// close it.
(() => {
  const drawer = document.getElementById("drawer");
  const body = document.getElementById("drawer-body");
  let home = "";
  let opener = null;

  async function show(address) {
    await htmx.ajax("GET", address, { target: body, swap: "innerHTML" });
    if (!body.querySelector("#item-shown")) return;
    if (drawer.open) {
      history.replaceState({ drawer: true }, "", address);
    } else {
      opener = document.activeElement?.id;
      home = location.pathname + location.search;
      history.pushState({ drawer: true }, "", address);
      drawer.showModal();
    }
    drawer.dataset.address = address;
    drawer.scrollTop = 0;
    body.querySelector("#item-title").focus();
  }

  // A link inside the drawer that asks for more of the same item keeps the place.
  async function more(address) {
    const place = drawer.scrollTop;
    await htmx.ajax("GET", address, { target: body, swap: "innerHTML" });
    drawer.scrollTop = place;
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-drawer], a[data-drawer-close]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (link.matches("[data-drawer-close]")) {
      if (!drawer.open) return;
      event.preventDefault();
      drawer.close();
    } else {
      event.preventDefault();
      if (drawer.contains(link) && !link.matches("[data-step]")) more(link.href);
      else show(link.href);
    }
  });

  // A row opens as a whole, but a selection of its text and its controls are left alone.
  document.addEventListener("click", (event) => {
    const row = event.target.closest(".items tbody tr");
    if (!row || event.target.closest("a, input, button, .pick") || String(getSelection())) return;
    row.querySelector(".row-link").click();
  });

  document.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-cells] .cells > i");
    if (!cell) return;
    const place = [...cell.parentElement.children].indexOf(cell);
    show(cell.closest("[data-cells]").dataset.cells.replace(/\d+$/, place));
  });

  drawer.addEventListener("close", () => {
    body.replaceChildren();
    if (history.state?.drawer) history.replaceState(null, "", home);
    document.getElementById(opener)?.focus();
  });

  // An item that still goes on is read again when its batch's page was.
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "live" || !drawer.open || !body.querySelector("[data-goes-on]")) return;
    htmx.ajax("GET", drawer.dataset.address, { target: body, swap: "steady" });
  });

  addEventListener("popstate", () => {
    if (drawer.open) drawer.close();
  });

  drawer.addEventListener("click", (event) => {
    if (event.target === drawer) drawer.close();
  });
})();
