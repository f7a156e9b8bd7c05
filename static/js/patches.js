// Elements that the server sends along with an event take the place of those with the same id, with
// nothing asked for: what changed is changed, and focus, scroll and typed text survive.
document.addEventListener("htmx:sseBeforeMessage", (event) => {
  if (event.detail.type !== "patch") return;
  event.preventDefault();
  const received = document.createElement("template");
  received.innerHTML = event.detail.data;
  for (const fresh of [...received.content.children]) {
    const old = document.getElementById(fresh.id);
    if (old) htmx.steady(old, fresh);
  }
});
