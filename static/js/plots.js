// The server writes the times of a plot in UTC; here they become the reader's own.
(() => {
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
  const seconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

  function localise() {
    for (const tick of document.querySelectorAll(".plot-time[data-moment]")) {
      const parts = tick.textContent.split(":").length;
      if (parts > 1) tick.textContent = (parts > 2 ? seconds : clock).format(Date.parse(tick.dataset.moment));
    }
  }

  document.addEventListener("htmx:afterSwap", localise);
  localise();
})();
