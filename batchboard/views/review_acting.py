"""What the addresses of a review share: the right to act, refusals, and the way back."""

from collections.abc import Callable
from functools import wraps
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from batchboard.models import Batch
from batchboard.roles import NotAllowed, Right, require
from batchboard.states import MoveRefused

Verb = Callable[[HttpRequest, Batch], HttpResponse]
View = Callable[[HttpRequest, str], HttpResponse]


def acting(what: str) -> Callable[[Verb], View]:
    """A view that takes a POST from reviewers; `what` completes "Only a reviewer may …"."""

    def wrap(verb: Verb) -> View:
        @require_POST
        @wraps(verb)
        def view(request: HttpRequest, public_id: str) -> HttpResponse:
            require(request.user, Right.REVIEW, what)
            return _act(verb, request, batch_of(public_id))

        return view

    return wrap


def _act(verb: Verb, request: HttpRequest, batch: Batch) -> HttpResponse:
    try:
        return verb(request, batch)
    except NotAllowed:
        raise
    except MoveRefused as refusal:
        messages.error(request, str(refusal))
        return to_review(batch, request.POST.get("item"))


def batch_of(public_id: str) -> Batch:
    related = ("version__task_type", "started_by")
    return get_object_or_404(Batch.objects.select_related(*related), public_id=public_id)


def to_review(batch: Batch, key: str | None = None) -> HttpResponse:
    query = f"?{urlencode({'item': key})}" if key else ""
    return redirect(reverse("review", args=[batch.public_id]) + query)
