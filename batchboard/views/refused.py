"""What a person may not do: a page that says who may."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from batchboard.roles import NotAllowed


def not_allowed(request: HttpRequest, refusal: NotAllowed, back: str) -> HttpResponse:
    return render(
        request, "people/not_allowed.html", {"refusal": str(refusal), "back": back}, status=403
    )
