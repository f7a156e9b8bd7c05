"""The stream that tells a page what changed; the page then asks for it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.views.decorators.http import require_GET

from batchboard.models import Batch
from batchboard.roles import rights_of
from batchboard.views.hub import Event, Listener, hub
from batchboard.views.painting import View
from batchboard.views.staying import Stay, stays
from dispatch.database import close_connections

LONGEST_SECONDS = 600
"""A stream ends after this time and the browser opens another, so that one whose session has ended
is asked to sign in."""

MOST_VIEWS = 40


@require_GET
async def live(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """Events `board` and, for `?batch=`, `batch-<public id>`, without data: ask for what you show;
    for `?experiment=`, `watched` of any of its arms.
    And `patch`, whose data are elements to put in the place of those with the same id: cards, for
    `?board`, and the figures of the batch.

    One stream may serve several pages: each `?view=` holds the query of one of them, and each event
    has as its id the place of the one that it is for."""
    user = await request.auser()
    if not user.is_authenticated:
        return HttpResponse("Sign in first.", status=401)
    views = await sync_to_async(_views)(request)
    stay = Stay(request.session.session_key or "", user.pk, views[0].rights)
    response = StreamingHttpResponse(_events(views, stay), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


def _views(request: HttpRequest) -> list[View]:
    asked = [QueryDict(query) for query in request.GET.getlist("view")[:MOST_VIEWS]]
    try:
        return [_view(request, query) for query in asked or [request.GET]]
    finally:
        close_connections()


def _view(request: HttpRequest, asked: QueryDict) -> View:
    batch = asked.get("batch") or ""
    return View(
        rights=rights_of(request.user),
        board="board" in asked,
        batch=batch if batch.replace("_", "").isalnum() else "",
        watched=_arms(asked.get("experiment") or ""),
    )


def _arms(experiment: str) -> frozenset[str]:
    """The batches of an experiment; none for what is no id of one."""
    if not experiment or not experiment.replace("_", "").isalnum():
        return frozenset()
    arms = Batch.objects.filter(arm__experiment__public_id=experiment)
    return frozenset(arms.values_list("public_id", flat=True))


async def _events(views: Sequence[View], stay: Stay) -> AsyncIterator[str]:
    time = asyncio.get_running_loop().time
    with ExitStack() as stack:
        stack.enter_context(stays.begun(stay))
        listeners = [stack.enter_context(hub.listening(view)) for view in views]
        ends = time() + LONGEST_SECONDS
        yield "retry: 1000\n\n"
        # Something comes with every tick at least.
        async for place, events in _merged(listeners):
            if stay.over:
                return
            yield "".join(_as_text(place, name, data) for name, data in events)
            listeners[place].sent(events)
            if time() > ends:
                return


async def _merged(listeners: Sequence[Listener]) -> AsyncIterator[tuple[int, list[Event]]]:
    """What any of them hears, with its place. A slow reader makes all of them wait, and what they
    hear meanwhile folds."""
    heard: asyncio.Queue[tuple[int, list[Event]]] = asyncio.Queue(maxsize=1)

    async def follow(place: int, listener: Listener) -> None:
        async for events in listener.news():
            await heard.put((place, events))

    tasks = [asyncio.create_task(follow(*numbered)) for numbered in enumerate(listeners)]
    try:
        while True:
            yield await heard.get()
    finally:
        for task in tasks:
            task.cancel()


def _as_text(place: int, name: str, data: str) -> str:
    lines = "\n".join(f"data:{line}" for line in data.splitlines() or [""])
    return f"id: {place}\nevent: {name}\n{lines}\n\n"
