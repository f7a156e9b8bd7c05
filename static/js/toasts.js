// A toast leaves after six seconds, but stays while the pointer or the focus is on it. What a
// fragment asked for and was refused is told in one too.
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

  document.addEventListener("htmx:responseError", ({ detail: { xhr } }) => {
    if (xhr.status !== 403 || !xhr.getResponseHeader("Content-Type")?.startsWith("text/plain")) return;
    const toast = document.createElement("p");
    toast.className = "toast";
    toast.textContent = xhr.responseText;
    document.querySelector(".toasts").append(toast);
    passing(toast);
  });
})();
