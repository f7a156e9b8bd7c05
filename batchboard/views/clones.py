"""Running a batch again: a new draft of its items."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from batchboard import intake
from batchboard.models import Batch
from batchboard.roles import NotAllowed
from batchboard.states import MoveRefused
from batchboard.views.refusing import operators_only


@require_POST
@operators_only("run a batch again")
def clones(request: HttpRequest, public_id: str) -> HttpResponse:
    batch = get_object_or_404(
        Batch.objects.select_related("version__task_type"), public_id=public_id
    )
    newest = request.POST.get("version") != "same"
    try:
        made = intake.clone(batch, request.POST.get("name", ""), newest=newest, by=request.user)
        if "start" in request.POST:
            made.start(by=request.user)
    except NotAllowed:
        raise
    except (MoveRefused, LookupError) as refusal:
        messages.error(request, str(refusal))
        return redirect("batch", public_id)
    return redirect("batch", made.public_id)
