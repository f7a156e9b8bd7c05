"""Sheets over the review page, each at an address of its own: approving, rejecting, and the prompt
with its attempts. A form states what follows from it, as things stand when it is opened."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from batchboard import intake, template
from batchboard.models import Batch, PreparationKind, ReviewState, SampledItem
from batchboard.money import decimals_of
from batchboard.templatetags.values import SHOWN_AT_FIRST
from batchboard.views.copies import AT_ONCE, begin
from batchboard.views.failures import said
from batchboard.views.requests import is_fragment, person
from batchboard.views.review_acting import acting, batch_of, to_review
from batchboard.views.review_decision import Decision
from batchboard.views.review_page import latest_review
from batchboard.whole_numbers import whole_number
from batchboard.wording import many


@require_http_methods(["GET", "HEAD", "POST"])
def approval(request: HttpRequest, public_id: str) -> HttpResponse:
    if request.method == "POST":
        return _approve(request, public_id)
    return _decision_sheet(request, public_id, "review/_approval.html", "Approve")


@require_http_methods(["GET", "HEAD", "POST"])
def rejection(request: HttpRequest, public_id: str) -> HttpResponse:
    if request.method == "POST":
        return _reject(request, public_id)
    return _decision_sheet(request, public_id, "review/_rejection.html", "Reject")


@require_safe
def prompt(request: HttpRequest, public_id: str) -> HttpResponse:
    """The prompt of a drawn result as it was rendered, and every attempt at it."""
    batch = batch_of(public_id)
    review = latest_review(batch)
    drawn = SampledItem.objects.filter(review=review, item__key=request.GET.get("item", ""))
    found = drawn.select_related("item__input").first()
    if found is None:
        raise Http404("It is not in the sample.")
    attempts = [(attempt, said(attempt.outcome)) for attempt in found.item.attempts.ended()]
    text = template.render(batch.version.prompt, found.item.input.data)
    decimals = decimals_of(attempt.cost for attempt, _ in attempts)
    context = {"item": found.item, "attempts": attempts, "decimals": decimals} | {
        name: {"text": part[:SHOWN_AT_FIRST], "left": max(0, len(part) - SHOWN_AT_FIRST)}
        for name, part in (("prompt", text), ("shared", batch.version.system))
    }
    return _sheet(request, batch, "review/_prompt.html", "Prompt and attempts", context)


@acting("approve results")
def _approve(request: HttpRequest, batch: Batch) -> HttpResponse:
    batch.approve(by=request.user, override=request.POST.get("reason", ""))
    results = many(batch.succeeded, "result is", "results are")
    messages.success(request, f"{results} released.")
    return to_review(batch)


@acting("reject results")
def _reject(request: HttpRequest, batch: Batch) -> HttpResponse:
    rerun, number = request.POST.get("rerun", ""), request.POST.get("version", "")
    version = batch.version.task_type.versions.filter(number=whole_number(number) or 0).first()
    reason, which = request.POST.get("reason", ""), rerun if rerun in {"bad", "all"} else None
    batch.check_rejection(reason, request.user, which, version)
    items = batch.to_send_again(which, batch.open_review).count() if which else 0
    if which and items > AT_ONCE:
        wanted = {"reason": reason, "rerun": which, "version": number if version else ""}
        return begin(request, PreparationKind.RERUN, batch, items, **wanted)
    again = intake.reject(batch, reason, by=request.user, rerun=which, version=version)
    sent = "nothing is sent again"
    if again is not None:
        sent = f"{many(again.total, 'item is', 'items are')} sent again"
    messages.success(request, f"The batch is rejected; {sent}.")
    return to_review(batch)


def _decision_sheet(request: HttpRequest, public_id: str, name: str, title: str) -> HttpResponse:
    batch = batch_of(public_id)
    review = batch.reviews.filter(state=ReviewState.OPEN).first()
    if review is None:
        return to_review(batch)
    sampled = review.sampled
    decision = Decision.of(
        batch, person(request), drawn=sampled.count(), judged=review.judged, bad=review.bad
    )
    bad = batch.to_send_again("bad", review).count()
    versions = batch.version.task_type.versions.order_by("-number")
    context = {
        "decision": decision,
        "again": bad,
        "versions": versions.values_list("number", flat=True),
    }
    return _sheet(request, batch, name, title, context)


def _sheet(
    request: HttpRequest, batch: Batch, name: str, title: str, context: dict[str, Any]
) -> HttpResponse:
    """The sheet alone for htmx, which puts it in a dialog; else a page around it."""
    context |= {"batch": batch, "sheet": name, "title": title}
    return render(request, name if is_fragment(request) else "review/sheet.html", context)
