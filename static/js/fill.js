// Buttons that put a value into a field (`data-fill` names it) or a text where the caret stands
// (`data-insert`), and links from an error to its field.
(() => {
  function changed(field) {
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function fill(button) {
    const field = document.getElementById(`f-${button.dataset.fill}`);
    const choice = document.querySelector(`input[type="radio"][name="${button.dataset.fill}"][value="${CSS.escape(button.dataset.value)}"]`);
    if (choice) {
      choice.checked = true;
      changed(choice);
      choice.focus();
    } else if (field?.type === "checkbox") {
      field.checked = true;
      changed(field);
      field.focus();
    } else if (field) {
      field.value = button.dataset.value;
      changed(field);
      field.focus();
    }
  }

  function insert(button) {
    const field = document.getElementById(button.dataset.insert);
    field.focus();
    field.setRangeText(button.dataset.value, field.selectionStart, field.selectionEnd, "end");
    changed(field);
  }

  document.addEventListener("click", (event) => {
    const filler = event.target.closest("[data-fill]");
    if (filler) fill(filler);
    const inserter = event.target.closest("[data-insert]");
    if (inserter) insert(inserter);
    const disabled = event.target.closest('[aria-disabled="true"]');
    const link = event.target.closest('a[href^="#f-"]') ?? (disabled && document.querySelector('.foot-note a[href^="#f-"]'));
    if (!link) return;
    event.preventDefault();
    const field = document.querySelector(link.hash.replaceAll(".", "\\."));
    field?.scrollIntoView({ block: "center" });
    field?.focus();
  });

  // htmx sends a form to the address of the button that was pressed in it last, also when it sends
  // for what was typed: the press that was refused would be made good by the next letter.
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    const address = detail.elt.getAttribute("hx-post");
    if (!address || !["input", "change"].includes(detail.triggeringEvent?.type) || !detail.elt.matches("form")) return;
    detail.path = address;
    for (const button of detail.elt.querySelectorAll("button[formaction][name]")) delete detail.parameters[button.name];
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const start = document.getElementById("start");
    if (!start) return;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      if (start.matches('[aria-disabled="true"]')) start.click();
      else start.form.requestSubmit(start);
    } else if (event.target.matches("#new input")) {
      // Enter in a field would press the form's first button, which discards or starts.
      event.preventDefault();
    }
  });
})();
