// A toast leaves after six seconds, but stays while the pointer or the focus is on it. What a
// fragment asked for and was refused is told in one too, as is what a person asked for and got no
// answer to, and the detail of an event `toast`.
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

  // What a page asks for by itself is asked for again by itself.
  function byPerson({ requestConfig }) {
    return ["click", "submit"].includes(requestConfig.triggeringEvent?.type);
  }

  function unanswered({ requestConfig }, why) {
    show(requestConfig.verb === "get" ? `${why}: try again.` : `${why}: nothing is known to have changed. Try again.`);
  }

  document.addEventListener("htmx:sendError", ({ detail }) => {
    if (byPerson(detail)) unanswered(detail, "The server did not answer");
  });

  document.addEventListener("htmx:responseError", ({ detail }) => {
    const { xhr } = detail;
    if (xhr.status >= 500 && byPerson(detail)) unanswered(detail, "Something broke on the server");
    if (xhr.status !== 403 || !xhr.getResponseHeader("Content-Type")?.startsWith("text/plain")) return;
    show(xhr.responseText);
  });
})();
