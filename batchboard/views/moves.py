"""What a person does with a batch: each address takes a POST, calls one verb and leads back. A
script that asks gets the outcome in one plain sentence instead, and the page stays."""

from collections.abc import Callable
from http import HTTPStatus

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from batchboard.models import Batch
from batchboard.roles import NotAllowed, Right, require, rights_of
from batchboard.states import MoveRefused
from batchboard.views.columns import BY_NAME
from batchboard.views.placement import Placement, placement, placements
from batchboard.views.requests import is_fragment

Verb = Callable[[Batch, HttpRequest], str]


def _move(verb: Verb) -> Callable[[HttpRequest, str], HttpResponse]:
    @require_POST
    def view(request: HttpRequest, public_id: str) -> HttpResponse:
        batch = get_object_or_404(Batch, public_id=public_id)
        try:
            done = verb(batch, request)
        except NotAllowed:
            raise
        except MoveRefused as refusal:
            if is_fragment(request):
                return _sentence(str(refusal), HTTPStatus.CONFLICT)
            messages.error(request, str(refusal))
        else:
            if is_fragment(request):
                return _sentence(done)
        return redirect("board") if "board" in request.GET else redirect("batch", public_id)

    return view


def _verb(name: str, done: str) -> Verb:
    def verb(batch: Batch, request: HttpRequest) -> str:
        getattr(batch, name)(by=request.user)
        return f"{batch.name}: {done}"

    return verb


run = _move(_verb("start", "started"))
pause = _move(_verb("pause", "paused"))
resumption = _move(_verb("resume", "resumed"))
cancellation = _move(_verb("cancel", "cancelled"))


@require_http_methods(["GET", "POST"])
def batch_placement(request: HttpRequest, public_id: str) -> HttpResponse:
    """GET: what each column means for this batch, as the menu that asks where to move it.
    POST: put its card into `column`."""
    if request.method == "POST":
        return _place(request, public_id)
    batch = get_object_or_404(Batch, public_id=public_id)
    found = placements(batch, rights_of(request.user))
    return render(request, "board/_placement.html", {"batch": batch, "placements": found})


def _place(request: HttpRequest, public_id: str) -> HttpResponse:
    require(request.user, Right.OPERATE, "move a batch")
    batch = get_object_or_404(Batch, public_id=public_id)
    column = BY_NAME.get(request.POST.get("column", ""))
    if column is None:
        raise Http404
    means = placement(batch, column, rights_of(request.user))
    if not means.verb:
        return _not_placed(request, batch, means)
    return _move(_verb(means.verb, f"now in {means.column.title}"))(request, public_id)


def _not_placed(request: HttpRequest, batch: Batch, means: Placement) -> HttpResponse:
    if is_fragment(request):
        return _sentence(means.says, HTTPStatus.CONFLICT)
    if means.opens:
        return redirect(means.opens)
    messages.error(request, f"{batch.name}: {means.says}")
    return redirect("board")


def _sentence(text: str, status: int = HTTPStatus.OK) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
