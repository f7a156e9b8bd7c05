"""What is shown where a page could not be made."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

RETRY_SECONDS = 10


def broken(request: HttpRequest) -> HttpResponse:
    """The page after an error that nobody foresaw. It asks nothing of the database, which may be
    what is away."""
    if not isinstance(sys.exc_info()[1], (OperationalError, InterfaceError)):
        return HttpResponse(render_to_string("500.html"), status=500)
    headers = {"Retry-After": str(RETRY_SECONDS)}
    return HttpResponse(render_to_string("503.html"), status=503, headers=headers)
