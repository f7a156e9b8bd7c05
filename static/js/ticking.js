// Keeps `<time data-ticks>` true between updates: "40 s ago", "4 s" left. By the server's clock.
(() => {
  const MINUTE = 60;
  const HOUR = 3600;
  const DAY = 86400;
  const offset = Date.parse(document.body.dataset.now) - Date.now() || 0;
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
  const day = new Intl.DateTimeFormat("en-US", { month: "short", day: "numeric" });

  function length(seconds) {
    if (seconds < MINUTE) return `${Math.floor(seconds)} s`;
    if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
    const [large, small, units] = seconds < DAY ? [HOUR, MINUTE, ["h", "min"]] : [DAY, HOUR, ["d", "h"]];
    const rest = Math.floor((seconds % large) / small);
    return `${Math.floor(seconds / large)} ${units[0]}${rest ? ` ${rest} ${units[1]}` : ""}`;
  }

  function since(moment, now, words) {
    const seconds = Math.max(0, (now - moment) / 1000);
    if (seconds < HOUR) return `${length(seconds)}${words}`;
    const sameDay = new Date(moment).toDateString() === new Date(now).toDateString();
    return (sameDay ? clock : day).format(moment);
  }

  function tick() {
    const now = Date.now() + offset;
    for (const element of document.querySelectorAll("time[data-ticks]")) {
      const moment = Date.parse(element.dateTime);
      const kind = element.dataset.ticks;
      const text = kind === "left" ? length(Math.max(0, (moment - now) / 1000)) : since(moment, now, kind === "ago" ? " ago" : "");
      if (element.textContent !== text) element.textContent = text;
      if (kind === "left" && moment <= now && !element.dataset.over) {
        element.dataset.over = "true";
        const part = element.closest("[hx-trigger]");
        if (part) htmx.trigger(part, part.getAttribute("hx-trigger"));
      }
    }
  }

  setInterval(tick, 1000);
  document.addEventListener("htmx:afterSwap", tick);
  tick();
})();
