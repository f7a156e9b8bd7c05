"""Giving a new batch its items: a file, or text that was pasted."""

from collections.abc import Iterable

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from batchboard.models import PreparationState, Upload, UploadTooLarge
from batchboard.models.upload import MAX_UPLOAD_BYTES
from batchboard.views.new_batch import find, keep, operators, page
from dispatch import intake_tasks


@require_POST
@operators
def new_items(request: HttpRequest, public_id: str) -> HttpResponse:
    """Store the file; it is read in the background."""
    preparation = find(request, public_id)
    if preparation.pk and preparation.state != PreparationState.EDITING:
        return redirect("new-batch", public_id)
    file = request.FILES.get("file")
    pasted = request.POST.get("pasted", "")
    keep(preparation, request)
    name, chunks = ("-", _encoded(pasted)) if file is None else (file.name or "-", file.chunks())
    wrong = "" if file is not None or pasted.strip() else "Choose a file, or paste some rows."
    if not wrong:
        try:
            received = Upload.objects.receive(name, chunks, request.user)
            if not preparation.give(received):
                return redirect("new-batch", public_id)
            transaction.on_commit(intake_tasks.nudge)
        except UploadTooLarge:
            wrong = (
                f"The file is over {MAX_UPLOAD_BYTES // 1_000_000} MB. Divide it into several."
                " Nothing was stored."
            )
    if "HX-Request" in request.headers:
        return render(request, "new/_form.html", page(request, preparation) | {"not_taken": wrong})
    if wrong:
        context = page(request, preparation) | {"not_taken": wrong}
        return render(request, "new/new.html", context, status=422)
    return redirect("new-batch", public_id)


def _encoded(text: str) -> Iterable[bytes]:
    yield text.encode("utf-8", "surrogatepass")
