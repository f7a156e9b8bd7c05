"""Copies of the items of a batch that are made in the background: how far one is, and what became
of it."""

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from batchboard.models import Batch, Preparation, PreparationKind, PreparationState
from batchboard.models.preparation import COPIES
from batchboard.roles import Right, require
from batchboard.views.requests import is_fragment, person
from dispatch import intake_tasks

AT_ONCE = 2_000
"""So many items at the most are copied while somebody waits for the page."""


def begin(
    request: HttpRequest, kind: PreparationKind, batch: Batch, items: int, **fields: str
) -> HttpResponse:
    """Have items of a batch copied in the background, and show how far that is. Raises
    MoveRefused."""
    preparation = Preparation.objects.copy(kind, batch, items, person(request), **fields)
    transaction.on_commit(intake_tasks.nudge)
    return redirect("copy", preparation.public_id)


@require_safe
def copy(request: HttpRequest, public_id: str) -> HttpResponse:
    """The page; htmx gets the part that changes. Once it is done it leads to the new batch."""
    found = _find(public_id)
    if found.state == PreparationState.DONE and found.batch:
        address = reverse("batch", args=[found.batch.public_id])
        return HttpResponseClientRedirect(address) if is_fragment(request) else redirect(address)
    name = "copies/_copy.html" if is_fragment(request) else "copies/copy.html"
    return render(request, name, {"preparation": found, "source": found.source})


@require_POST
def copy_discard(request: HttpRequest, public_id: str) -> HttpResponse:
    """Forget one that failed: its person has read why."""
    require(request.user, Right.COMMENT, "put away what could not be copied")
    found = _find(public_id)
    gone = Preparation.objects.filter(
        pk=found.pk, state=PreparationState.EDITING, owner=person(request)
    )
    gone.delete()
    assert found.source is not None
    return redirect("batch", found.source.public_id)


def _find(public_id: str) -> Preparation:
    related = Preparation.objects.select_related("source", "batch", "owner")
    return get_object_or_404(related, public_id=public_id, kind__in=COPIES)
