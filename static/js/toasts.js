// A toast leaves after six seconds, but stays while the pointer or the focus is on it.
for (const toast of document.querySelectorAll(".toast")) {
  const leave = () => {
    if (toast.matches(":hover, :focus-within")) return setTimeout(leave, 1000);
    toast.classList.add("is-leaving");
    return setTimeout(() => toast.remove(), 200);
  };
  setTimeout(leave, 6000);
}
