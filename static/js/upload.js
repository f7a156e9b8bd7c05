// Sends a file as soon as it is chosen or dropped, and shows how much of it is sent.
(() => {
  const form = document.getElementById("upload");
  const input = () => document.getElementById("file");
  const bar = () => document.getElementById("sent");

  document.addEventListener("change", (event) => {
    if (event.target.id === "file" && event.target.files.length) form.requestSubmit();
  });

  document.addEventListener("dragover", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    document.getElementById("drop")?.classList.add("is-over");
  });

  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.getElementById("drop")?.classList.remove("is-over");
  });

  document.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    document.getElementById("drop")?.classList.remove("is-over");
    input().files = event.dataTransfer.files;
    form.requestSubmit();
  });

  form.addEventListener("htmx:xhr:progress", (event) => {
    if (!event.detail.lengthComputable) return;
    bar().hidden = false;
    bar().value = (event.detail.loaded / event.detail.total) * 100;
  });

  function lost() {
    document.getElementById("not-sent").hidden = false;
  }

  for (const kind of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) form.addEventListener(kind, lost);

  form.addEventListener("htmx:afterRequest", (event) => {
    bar().hidden = true;
    // One that another file replaced was not lost, and leaves that other one alone.
    if (!event.detail.successful) return;
    document.getElementById("not-sent").hidden = true;
    input().value = "";
    document.getElementById("pasted").value = "";
    document.getElementById("paste").open = false;
  });
})();
