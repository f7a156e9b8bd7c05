"""Results as a file, once a person approved them."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_GET

from batchboard.export import FORMATS, export, file_name
from batchboard.models import Batch
from batchboard.roles import NotAllowed
from batchboard.states import MoveRefused


@require_GET
def batch_export(request: HttpRequest, public_id: str, format_: str) -> HttpResponseBase:
    """Streamed, so that memory stays flat; recorded when its last byte was sent."""
    if format_ not in FORMATS:
        raise Http404
    batch = get_object_or_404(Batch.objects.select_related("version"), public_id=public_id)
    try:
        pieces = export(batch, format_, by=request.user)
    except NotAllowed:
        raise
    except MoveRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("batch", public_id)
    response = StreamingHttpResponse(
        pulled(pieces) if isinstance(request, ASGIRequest) else pieces,
        content_type=FORMATS[format_].content_type,
    )
    response["Content-Disposition"] = f'attachment; filename="{file_name(batch, format_)}"'
    response["Cache-Control"] = "no-store"
    return response


async def pulled(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """One piece after the other, each made in the request's own thread when it is wanted."""
    take = sync_to_async(lambda: next(pieces, None))
    while (piece := await take()) is not None:
        yield piece
