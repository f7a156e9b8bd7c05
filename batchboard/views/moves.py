"""What a person does with a batch: each address takes a POST, calls one verb and leads back."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from batchboard.models import Batch
from batchboard.roles import NotAllowed
from batchboard.states import MoveRefused

Verb = Callable[[Batch, HttpRequest], str | None]


def _move(verb: Verb) -> Callable[[HttpRequest, str], HttpResponse]:
    @require_POST
    def view(request: HttpRequest, public_id: str) -> HttpResponse:
        batch = get_object_or_404(Batch, public_id=public_id)
        try:
            done = verb(batch, request)
        except NotAllowed:
            raise
        except MoveRefused as refusal:
            messages.error(request, str(refusal))
        else:
            if done:
                messages.success(request, done)
        return redirect("board") if "board" in request.GET else redirect("batch", public_id)

    return view


def _start(batch: Batch, request: HttpRequest) -> None:
    batch.start(by=request.user)


def _pause(batch: Batch, request: HttpRequest) -> None:
    batch.pause(by=request.user)


def _resume(batch: Batch, request: HttpRequest) -> None:
    batch.resume(by=request.user)


def _cancel(batch: Batch, request: HttpRequest) -> None:
    batch.cancel(by=request.user)


run = _move(_start)
pause = _move(_pause)
resumption = _move(_resume)
cancellation = _move(_cancel)
