// Puts a card into another column, by dragging, or by the menu that M and its button open. What a
// column would do with it, or why not, the server says for both: nothing of it is known here.
(() => {
  const board = document.getElementById("board");
  const menu = document.getElementById("move");
  let dragged = null;
  let means = new Map();
  let asking = Promise.resolve(means);
  let over = null;

  function toast(text) {
    document.dispatchEvent(new CustomEvent("toast", { detail: text }));
  }

  async function ask(address, options = {}) {
    const answer = await fetch(address, { ...options, headers: { "HX-Request": "true" } });
    const elsewhere = answer.headers.get("HX-Redirect");
    if (elsewhere) location.assign(elsewhere);
    return answer;
  }

  async function post(card, address, column = "") {
    const body = new FormData(document.getElementById("verb"));
    if (column) body.set("column", column);
    try {
      const answer = await ask(address, { method: "POST", body });
      const text = answer.status < 500 ? await answer.text() : "That did not work. The server’s log says why.";
      if (answer.ok) card.dispatchEvent(new CustomEvent("done", { detail: text, bubbles: true }));
      else toast(text);
    } catch {
      toast("The server did not answer: nothing is known to have changed.");
    }
    htmx.trigger("#columns", "asked");
  }

  async function placements(card) {
    const answer = await ask(card.dataset.placement);
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.text();
  }

  // The menu
  async function openMenu(card) {
    try {
      menu.innerHTML = await placements(card);
    } catch {
      toast("The server did not answer: try again.");
      return;
    }
    menu.dataset.card = card.id;
    menu.showModal();
    choices().find((choice) => !choice.ariaDisabled)?.focus();
  }

  function choices() {
    return [...menu.querySelectorAll("[data-column]")];
  }

  menu.addEventListener("click", (event) => {
    const choice = event.target.closest("button[data-column]");
    if (!choice || choice.ariaDisabled) return;
    const card = document.getElementById(menu.dataset.card);
    menu.close();
    if (card) post(card, card.dataset.placement, choice.dataset.column);
  });

  menu.addEventListener("keydown", (event) => {
    const along = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (!along) return;
    event.preventDefault();
    const all = choices();
    all[Math.min(all.length - 1, Math.max(0, all.indexOf(document.activeElement) + along))].focus();
  });

  document.addEventListener("click", (event) => {
    const card = event.target.closest("[data-moves]");
    if (card && event.target.closest("[data-opens-menu]")) openMenu(card);
    const button = event.target.closest("[data-posts]");
    if (card && button) post(card, button.dataset.posts);
    const refused = event.target.closest("[data-refuses]");
    if (card && refused) toast(refused.dataset.refuses);
  });

  // Dragging
  function mark() {
    for (const column of board.querySelectorAll(".column")) {
      const found = means.get(column.dataset.column);
      column.classList.toggle("is-home", Boolean(found?.home));
      column.classList.toggle("is-refusing", Boolean(found && !found.possible && !found.home));
      column.classList.toggle("is-open", Boolean(found?.possible));
      column.querySelector(".drop-says").textContent = found && !found.home ? found.says : "";
    }
  }

  function read(markup) {
    const found = new DOMParser().parseFromString(markup, "text/html").querySelectorAll("[data-column]");
    return new Map([...found].map((choice) => [choice.dataset.column, {
      possible: !choice.ariaDisabled,
      home: choice.ariaCurrent === "true",
      opens: choice.getAttribute("href"),
      says: choice.querySelector("[data-says-why]").textContent,
    }]));
  }

  board.addEventListener("dragstart", async (event) => {
    const card = event.target.closest?.("[data-moves]");
    if (!card) return;
    dragged = card;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", card.querySelector("h3").textContent.trim());
    requestAnimationFrame(() => card.classList.add("is-dragged"));
    asking = placements(card).then(read, () => new Map());
    const found = await asking;
    if (dragged !== card) return;
    means = found;
    mark();
  });

  board.addEventListener("dragover", (event) => {
    if (!dragged) return;
    over = event.target.closest(".column");
    // While the answer is on its way, every column takes the card: what it means is known at last.
    if (over && (!means.size || means.get(over.dataset.column)?.possible)) event.preventDefault();
    for (const column of board.querySelectorAll(".column")) {
      column.classList.toggle("is-over", column === over);
    }
  });

  board.addEventListener("drop", async (event) => {
    const [card, column] = [dragged, event.target.closest(".column")];
    if (!card || !column) return;
    event.preventDefault();
    const found = (await asking).get(column.dataset.column);
    if (found?.opens) location.assign(found.opens);
    else if (found?.possible) post(card, card.dataset.placement, column.dataset.column);
    else if (found && !found.home) toast(found.says);
  });

  document.addEventListener("dragend", (event) => {
    if (!dragged) return;
    const found = over && means.get(over.dataset.column);
    if (event.dataTransfer.dropEffect === "none" && found && !found.possible && !found.home) toast(found.says);
    dragged.classList.remove("is-dragged");
    dragged.querySelector(".card-link").focus({ preventScroll: true });
    dragged = over = null;
    means = new Map();
    mark();
    for (const column of board.querySelectorAll(".is-over")) column.classList.remove("is-over");
    htmx.trigger("#columns", "asked");
  });

  // What is dragged stays where it is until it is put down.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (dragged && event.detail.target.id === "columns") event.detail.shouldSwap = false;
  });
})();
