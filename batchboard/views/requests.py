"""What a request tells a view: who sent it, and whether a script wants a part of a page."""

from typing import cast

from django.http import HttpRequest

from batchboard.models import User


def person(request: HttpRequest) -> User:
    """Who is signed in; the middleware lets nobody else come this far."""
    return cast(User, request.user)


def is_fragment(request: HttpRequest) -> bool:
    """Whether htmx sent it, for a part of a page or in the background. To go back to a page that
    was left, htmx asks for the whole of it."""
    asks = "HX-Request" in request.headers
    return asks and "HX-History-Restore-Request" not in request.headers
