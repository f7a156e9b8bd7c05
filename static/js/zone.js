// Offers the browser's own time zone, where it says one that differs from the field's.
(() => {
  const button = document.getElementById("here");
  const field = document.getElementById("f-zone");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!button || !field || !zone || zone === field.value) return;
  button.dataset.value = zone;
  button.textContent = `Use yours, ${zone}`;
  button.hidden = false;
})();
