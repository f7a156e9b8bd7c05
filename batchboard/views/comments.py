"""Writing a comment on a batch."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from batchboard.models import Batch, Comment
from batchboard.roles import NotAllowed
from batchboard.states import MoveRefused
from batchboard.views.requests import is_fragment


@require_POST
def comments(request: HttpRequest, public_id: str) -> HttpResponse:
    """A script asks in the background and hears 204 or 422 with the reason; without one, the page
    comes back."""
    batch = get_object_or_404(Batch, public_id=public_id)
    refused = ""
    try:
        Comment.objects.write(batch, request.POST.get("text", ""), by=request.user)
    except NotAllowed:
        raise
    except MoveRefused as refusal:
        refused = str(refusal)
    if is_fragment(request):
        return HttpResponse(refused, status=422 if refused else 204, content_type="text/plain")
    if refused:
        messages.error(request, refused)
    return redirect(reverse("batch", args=[public_id]) + "#activity")
