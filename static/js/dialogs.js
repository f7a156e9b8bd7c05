// `data-opens` opens the dialog that it names, `data-closes` closes the one that it is in. The
// browser holds the focus inside and gives it back.
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens).showModal();
  if (event.target.closest("[data-closes]")) event.target.closest("dialog").close();
  if (event.target instanceof HTMLDialogElement) event.target.close();
  for (const menu of document.querySelectorAll("details:is(.person-menu, .more-menu)[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
