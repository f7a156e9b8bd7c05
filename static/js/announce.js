// Tells a screen reader of changes of state and of blocks, at most every five seconds; at once of
// what its user did, with an event `done` at the element that changes by it.
(() => {
  const QUIET = 5000;
  const region = document.getElementById("said");
  const queue = new Map();
  let known = sayings();
  let timer = 0;

  function sayings() {
    return new Map([...document.querySelectorAll("[data-says]")].map((element) => [element.id, element.dataset.says]));
  }

  function speak() {
    timer = 0;
    if (!queue.size) return;
    region.textContent = [...queue.values()].slice(0, 4).join(". ");
    queue.clear();
    timer = setTimeout(speak, QUIET);
  }

  document.addEventListener("done", (event) => {
    known.delete(event.target.id);
    queue.delete(event.target.id);
    region.textContent = event.detail;
  });

  document.addEventListener("htmx:afterSwap", () => {
    const now = sayings();
    for (const [id, words] of now) {
      if (known.has(id) && known.get(id) !== words) queue.set(id, words);
    }
    known = now;
    if (queue.size && !timer) speak();
  });
})();
