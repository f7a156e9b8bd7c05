"""Running a batch again: a new draft of its items."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from batchboard import intake
from batchboard.models import Batch, PreparationKind
from batchboard.roles import NotAllowed
from batchboard.states import MoveRefused
from batchboard.views.copies import AT_ONCE, begin
from batchboard.views.refusing import operators_only


@require_POST
@operators_only("run a batch again")
def clones(request: HttpRequest, public_id: str) -> HttpResponse:
    """A batch of few items is copied on the spot, one of many in the background."""
    batch = get_object_or_404(
        Batch.objects.arrived().select_related("version__task_type"), public_id=public_id
    )
    name, version = request.POST.get("name", "").strip()[:200], request.POST.get("version", "")
    starts = {"start": "1"} if "start" in request.POST else {}
    if batch.total > AT_ONCE:
        wanted = {"name": name, "version": version} | starts
        return begin(request, PreparationKind.CLONE, batch, batch.total, **wanted)
    try:
        made = intake.clone(batch, name, newest=version != "same", by=request.user)
        if starts:
            made.start(by=request.user)
    except NotAllowed:
        raise
    except (MoveRefused, LookupError) as refusal:
        messages.error(request, str(refusal))
        return redirect("batch", public_id)
    return redirect("batch", made.public_id)
