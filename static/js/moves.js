// A card that changes its column glides there, unless motion is unwelcome or it has the focus; and
// what had the focus keeps it, wherever it went.
(() => {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let before = new Map();
  let focused = "";

  function places(root) {
    return new Map(
      [...root.querySelectorAll("[data-moves]")].map((card) => [card.id, [card.parentElement.id, card.getBoundingClientRect()]]),
    );
  }

  document.addEventListener("htmx:beforeSwap", (event) => {
    focused = event.detail.target.contains(document.activeElement) ? document.activeElement.id : "";
    before = still.matches ? new Map() : places(event.detail.target);
  });

  function giveBack() {
    const there = focused && document.activeElement === document.body && document.getElementById(focused);
    if (!there) return;
    there.focus({ preventScroll: true });
    there.closest("[data-moves]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  document.addEventListener("htmx:afterSwap", (event) => {
    giveBack();
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
