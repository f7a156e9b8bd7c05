// A swap that changes only what is different, so that focus, scroll, selection and typed text
// survive: `hx-swap="steady"`. Elements are the same where their ids are, else by place and name.
// A fragment that is the target itself, by its id, replaces its attributes as well.
// `data-keep` is never touched; `data-hold` waits while the pointer or the focus is in it, and says
// so with `steady:held`. `htmx.steady(old, fresh)` does the same to one element.
(() => {
  const TEXT = Node.TEXT_NODE;

  function patch(old, fresh, added) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    if (old.hasAttribute("data-keep") || old.isEqualNode(fresh)) return;
    if (fresh.hasAttribute("data-hold") && !("letGo" in old.dataset) && (old.matches(":hover") || old.contains(document.activeElement))) {
      old.dispatchEvent(new CustomEvent("steady:held", { bubbles: true, detail: fresh }));
      return;
    }
    if (old.dataset.ticks && old.dateTime === fresh.dateTime && old.dataset.ticks === fresh.dataset.ticks) return;
    // What htmx reads of an element it reads once: an element whose words for it changed is new.
    if (words(old) !== words(fresh)) added.push(old);
    patchAttributes(old, fresh);
    patchChildren(old, fresh, added);
  }

  function words(element) {
    return [...element.attributes].filter(({ name }) => name.startsWith("hx-")).map(({ name, value }) => `${name}=${value}`).join();
  }

  function patchAttributes(old, fresh) {
    for (const { name } of [...old.attributes]) {
      // What somebody opened stays open.
      if (name === "open" && old.matches("details")) continue;
      if (!fresh.hasAttribute(name)) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
  }

  function patchChildren(parent, source, added) {
    const incoming = new Set([...source.children].map((child) => child.id).filter(Boolean));
    const present = new Map([...parent.children].filter((child) => child.id).map((child) => [child.id, child]));
    let place = parent.firstChild;
    for (const fresh of [...source.childNodes]) {
      // What is gone leaves the space around it behind: an element is not put before that, it would
      // be a new one, with nothing of what was typed into the old.
      while (place && (place.id ? !incoming.has(place.id) : isSpace(place) && !isSpace(fresh))) place = removed(place);
      const same = fresh.id ? present.get(fresh.id) : place && alike(place, fresh) ? place : null;
      if (!same || same.nodeName !== fresh.nodeName) {
        parent.insertBefore(fresh, place);
        added.push(fresh);
        continue;
      }
      if (same === place) place = place.nextSibling;
      else parent.insertBefore(same, place);
      patch(same, fresh, added);
    }
    while (place) place = removed(place);
  }

  function isSpace(node) {
    return node.nodeType === TEXT && !node.nodeValue.trim();
  }

  function alike(one, other) {
    return !one.id && one.nodeType === other.nodeType && one.nodeName === other.nodeName;
  }

  function removed(node) {
    const next = node.nextSibling;
    node.remove();
    return next;
  }

  // Puts `fresh` in the place of `old` in the same way, with no request.
  htmx.steady = (old, fresh) => {
    const added = [];
    patch(old, fresh, added);
    for (const node of added) if (node.nodeType !== TEXT) htmx.process(node);
  };

  htmx.defineExtension("steady", {
    // What a person does replaces what is under way. htmx would begin a refresh that waited behind
    // that first, and the act would wait for it, until its own button is swapped away, and be lost.
    init(htmxs) {
      document.addEventListener("htmx:abort", (event) => {
        htmxs.getInternalData(event.target).queuedRequests = [];
      }, true);
    },
    isInlineSwap: (style) => style === "steady",
    handleSwap(style, target, fragment) {
      if (style !== "steady") return false;
      const added = [];
      const only = fragment.children.length === 1 ? fragment.firstElementChild : null;
      if (only?.id && only.id === target.id) patch(target, only, added);
      else patchChildren(target, fragment, added);
      return added.filter((node) => node.nodeType !== TEXT);
    },
  });
})();
