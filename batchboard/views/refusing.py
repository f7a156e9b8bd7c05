"""Views for people who may act, and not only look."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse

from batchboard.roles import Right, require

View = Callable[..., HttpResponse]


def operators_only(what: str) -> Callable[[View], View]:
    """Refuse a view to people who may not operate; `what` completes "Only … may …"."""

    def wrap(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
            require(request.user, Right.OPERATE, what)
            return view(request, *args, **kwargs)

        return guarded

    return wrap
