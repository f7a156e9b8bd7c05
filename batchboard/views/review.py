"""The review of a batch: looking at drawn results, and what a reviewer does with them.

An address that acts takes a POST, checks a right, calls one verb and leads back to the page, which
answers a request of htmx with the part that it swaps.
"""

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from batchboard.models import Batch, Verdict
from batchboard.states import MoveRefused
from batchboard.views.requests import is_fragment, person
from batchboard.views.review_acting import acting, batch_of, to_review
from batchboard.views.review_page import review_page
from batchboard.whole_numbers import whole_number


@require_safe
def review(request: HttpRequest, public_id: str) -> HttpResponse:
    found = batch_of(public_id)
    if not is_fragment(request):
        return _render(request, found, "review/review.html", request.GET)
    answer = _render(request, found, "review/_swap.html", request.GET)
    answer["HX-Replace-Url"] = request.get_full_path()
    return answer


@require_safe
def review_live(request: HttpRequest, public_id: str) -> HttpResponse:
    return _render(request, batch_of(public_id), "review/_live.html", request.GET)


@acting("judge results")
def reservation(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Hold the result that is looked at; `leaves` lets go of it. Whether that was possible, the
    page says."""
    if "leaves" in request.POST:
        batch.hand_back(request.user)
        return HttpResponse(status=204)
    batch.reserve(request.POST.get("item", ""), request.user)
    return _render(request, batch, "review/_live.html", request.POST)


@acting("judge results")
def verdict(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Judge a result, and go on to the next that is free."""
    key, given = request.POST.get("item", ""), request.POST.get("verdict", "")
    if given not in Verdict.values:
        raise MoveRefused("A verdict is a pass or a fail.")
    batch.judge(key, given, request.POST.get("note", ""), by=request.user)
    return to_review(batch, batch.reserve_next(request.user, after=key) or key)


@acting("take a verdict back")
def retraction(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Take back the verdict on the result that is looked at; where it has none, the last one that
    this person gave."""
    judged = batch.open_review.sampled.judged().select_related("item")
    here = judged.filter(item__key=request.POST.get("item", "")).first()
    drawn = here or judged.filter(judged_by=person(request)).order_by("-judged_at").first()
    if drawn is None:
        raise MoveRefused("There is no verdict of yours to take back.")
    batch.take_back(drawn.item.key, by=request.user)
    return to_review(batch, drawn.item.key)


@acting("draw more results")
def draw(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Draw more, and go on to the first of them where nothing else was left to judge."""
    count, key = whole_number(request.POST.get("count", "")), request.POST.get("item", "")
    if not count or count > batch.total:
        raise MoveRefused("Say how many more to draw.")
    batch.draw_more(count, by=request.user)
    is_judged = batch.open_review.sampled.judged().filter(item__key=key).exists()
    return to_review(
        batch, (batch.reserve_next(request.user, after=key) if is_judged else None) or key
    )


def _render(request: HttpRequest, batch: Batch, template: str, asked: QueryDict) -> HttpResponse:
    page = review_page(batch, person(request), asked.get("item", ""), shows_all="all" in asked)
    return render(request, template, {"page": page, "batch": batch})
