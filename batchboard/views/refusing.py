"""The answer to who may look but not act."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from batchboard.roles import NotAllowed, Right, require

View = Callable[..., HttpResponse]


def operators_only(what: str) -> Callable[[View], View]:
    """Refuse a view to who may not operate; `what` completes "… may"."""

    def wrap(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
            try:
                require(request.user, Right.OPERATE, what)
            except NotAllowed as refusal:
                return render(request, "partials/refused.html", {"why": refusal}, status=403)
            return view(request, *args, **kwargs)

        return guarded

    return wrap
