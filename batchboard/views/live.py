"""The stream that tells a page what changed; the page then asks for it."""

import asyncio
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.db import connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_GET

from batchboard.views.hub import hub

LONGEST_SECONDS = 600
"""A stream ends after this time and the browser opens another, so that one whose session has ended
is asked to sign in."""


@require_GET
async def live(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """Events `board` and, for `?batch=`, `batch-<public id>`; their data is empty."""
    user = await request.auser()
    if not user.is_authenticated:
        return HttpResponse("Sign in first.", status=401)
    await sync_to_async(_hand_back_connections)()
    response = StreamingHttpResponse(
        _events(request.GET.get("batch", "")), content_type="text/event-stream"
    )
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


async def _events(batch: str) -> AsyncIterator[str]:
    with hub.listening(batch if batch.replace("_", "").isalnum() else "") as listener:
        ends = asyncio.get_running_loop().time() + LONGEST_SECONDS
        yield "retry: 1000\n\n"
        async for names in listener.news():
            yield "".join(f"event: {name}\ndata:\n\n" for name in names)
            if asyncio.get_running_loop().time() > ends:
                return


def _hand_back_connections() -> None:
    """The stream needs no database, and would keep the connection that signing in took."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()
