// Small things of the batch's page: its settings in a dialog, comments without a new page, the
// newest activity in view, copying.
(() => {
  const settings = document.getElementById("settings");
  const body = document.getElementById("settings-body");

  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a[data-settings]");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    await htmx.ajax("GET", link.href, { target: body, swap: "innerHTML" });
    if (body.querySelector("form")) settings.showModal();
  });
  settings.addEventListener("click", (event) => {
    if (event.target.closest("a[data-closes]")) event.preventDefault();
  });
  body.addEventListener("htmx:afterSwap", () => {
    body.querySelector("[aria-invalid]")?.focus();
  });

  const comment = document.getElementById("comment");
  const error = document.getElementById("comment-error");
  comment?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    document.getElementById("comment-send").click();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.elt.id !== "comment-send") return;
    if (event.detail.successful) comment.value = "";
    error.textContent = event.detail.successful
      ? ""
      : event.detail.xhr.status === 422
        ? event.detail.xhr.responseText
        : "The comment was not saved. It is still here: try again.";
    comment.focus();
    if (event.detail.successful) {
      atEnd = true;
      htmx.trigger("#live", "again");
    }
  });

  // The newest entry stands at the end and stays in view, unless somebody scrolled to older ones.
  const log = document.getElementById("activity-log");
  const NEAR = 8;
  let atEnd = true;
  log.addEventListener("scroll", () => {
    atEnd = log.scrollTop + log.clientHeight > log.scrollHeight - NEAR;
  });
  function showNewest() {
    if (atEnd) log.scrollTop = log.scrollHeight;
  }
  document.addEventListener("htmx:afterSwap", showNewest);
  showNewest();

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copies]");
    if (!button) return;
    const field = document.getElementById(button.dataset.copies);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 3000);
  });
})();
