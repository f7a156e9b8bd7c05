"""The stream that tells a page what changed; the page then asks for it."""

import asyncio
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.db import connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_GET

from batchboard.models import Batch
from batchboard.roles import rights_of
from batchboard.views.hub import hub
from batchboard.views.painting import View

LONGEST_SECONDS = 600
"""A stream ends after this time and the browser opens another, so that one whose session has ended
is asked to sign in."""


@require_GET
async def live(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """Events `board` and, for `?batch=`, `batch-<public id>`, without data: ask for what you show;
    for `?experiment=`, `watched` of any of its arms.
    And `patch`, whose data are elements to put in the place of those with the same id: cards, for
    `?board`, and the figures of the batch."""
    user = await request.auser()
    if not user.is_authenticated:
        return HttpResponse("Sign in first.", status=401)
    view = await sync_to_async(_view)(request)
    response = StreamingHttpResponse(_events(view), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


def _view(request: HttpRequest) -> View:
    batch = request.GET.get("batch", "")
    try:
        return View(
            rights=rights_of(request.user),
            board="board" in request.GET,
            batch=batch if batch.replace("_", "").isalnum() else "",
            watched=_arms(request.GET.get("experiment", "")),
        )
    finally:
        _hand_back_connections()


def _arms(experiment: str) -> frozenset[str]:
    """The batches of an experiment; none for what is no id of one."""
    if not experiment or not experiment.replace("_", "").isalnum():
        return frozenset()
    arms = Batch.objects.filter(arm__experiment__public_id=experiment)
    return frozenset(arms.values_list("public_id", flat=True))


async def _events(view: View) -> AsyncIterator[str]:
    with hub.listening(view) as listener:
        ends = asyncio.get_running_loop().time() + LONGEST_SECONDS
        yield "retry: 1000\n\n"
        async for events in listener.news():
            yield "".join(_as_text(name, data) for name, data in events)
            if asyncio.get_running_loop().time() > ends:
                return


def _as_text(name: str, data: str) -> str:
    lines = "\n".join(f"data:{line}" for line in data.splitlines() or [""])
    return f"event: {name}\n{lines}\n\n"


def _hand_back_connections() -> None:
    """The stream needs no database, and would keep the connection that signing in took."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()
