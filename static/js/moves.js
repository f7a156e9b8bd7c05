// A card that changes its column glides there, unless motion is unwelcome or it has the focus.
(() => {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let before = new Map();

  function places(root) {
    return new Map(
      [...root.querySelectorAll("[data-moves]")].map((card) => [card.id, [card.parentElement.id, card.getBoundingClientRect()]]),
    );
  }

  document.addEventListener("htmx:beforeSwap", (event) => {
    before = still.matches ? new Map() : places(event.detail.target);
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    for (const [id, [column, was]] of before) {
      const card = document.getElementById(id);
      if (!card || card.parentElement.id === column || card.contains(document.activeElement)) continue;
      const is = card.getBoundingClientRect();
      if (!was.width || !is.width) continue;
      const from = `translate(${was.left - is.left}px, ${was.top - is.top}px)`;
      card.animate([{ transform: from }, { transform: "none" }], { duration: 180, easing: "ease-out" });
    }
    before = new Map();
  });
})();
