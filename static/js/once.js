// A form that leaves the page is sent once, however often its button is pressed: the second press of a
// double click would make a second batch, draw twice as many, or pay for a second trial.
(() => {
  const SECONDS = 10; // then the answer was no page, or there was none
  const sent = new WeakMap();

  document.addEventListener("submit", (event) => {
    const form = event.target;
    // What a script sends has its own rule for what comes twice.
    if (event.defaultPrevented || form.method !== "post") return;
    const button = event.submitter ?? form;
    if (Date.now() - (sent.get(button) ?? 0) < SECONDS * 1000) event.preventDefault();
    else sent.set(button, Date.now());
  });
})();
