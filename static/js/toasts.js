// A toast leaves after six seconds, but stays while the pointer or the focus is on it. What a
// fragment asked for and was refused is told in one too, as is the detail of an event `toast`.
(() => {
  function passing(toast) {
    const leave = () => {
      if (toast.matches(":hover, :focus-within")) return setTimeout(leave, 1000);
      toast.classList.add("is-leaving");
      return setTimeout(() => toast.remove(), 200);
    };
    setTimeout(leave, 6000);
  }

  document.querySelectorAll(".toast").forEach(passing);

  function show(text) {
    const toast = document.createElement("p");
    toast.className = "toast";
    toast.textContent = text;
    document.querySelector(".toasts").append(toast);
    passing(toast);
  }

  document.addEventListener("toast", (event) => show(event.detail));

  document.addEventListener("htmx:responseError", ({ detail: { xhr } }) => {
    if (xhr.status !== 403 || !xhr.getResponseHeader("Content-Type")?.startsWith("text/plain")) return;
    show(xhr.responseText);
  });
})();
