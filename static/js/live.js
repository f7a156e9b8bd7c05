// Keeps the page honest about its own liveness: says when updates are lost, asks for nothing while
// the page is hidden, and asks for all that it missed when it is seen again.
(() => {
  const PATIENCE = 2500;
  const missed = new Map();
  let streamLost = false;
  let fetchLost = false;
  let waiting = 0;

  function show() {
    document.body.classList.toggle("is-stale", streamLost || fetchLost);
  }

  document.addEventListener("htmx:sseError", () => {
    waiting ||= setTimeout(() => {
      streamLost = true;
      show();
    }, PATIENCE);
  });

  document.addEventListener("htmx:sseOpen", () => {
    clearTimeout(waiting);
    waiting = 0;
    streamLost = false;
    show();
  });

  document.addEventListener("htmx:beforeRequest", (event) => {
    const cause = event.detail.requestConfig.triggeringEvent?.type ?? "";
    if (!document.hidden || !cause.startsWith("sse:")) return;
    event.preventDefault();
    missed.set(event.detail.elt, cause);
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    // A refusal is an answer; none at all, or a fault of the server, is a loss.
    const status = event.detail.xhr?.status ?? 0;
    fetchLost = status === 0 || status >= 500;
    show();
  });

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    for (const [element, cause] of missed) htmx.trigger(element, cause);
    missed.clear();
  });
})();
