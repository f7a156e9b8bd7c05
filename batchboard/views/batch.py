"""The page of one batch, and its live fragment: the same partial serves both."""

from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from batchboard import rows
from batchboard.models import Batch, Event, Limits, TaskVersion
from batchboard.models.changing import CHANGEABLE_BATCH
from batchboard.roles import Right, may
from batchboard.states import UNFINISHED_BATCH, ItemState
from batchboard.views.activity import activity
from batchboard.views.asked import Asked
from batchboard.views.bulk import bulk
from batchboard.views.cards import Card, cards
from batchboard.views.columns import BY_NAME, column_of, with_relations
from batchboard.views.failures import failures, said
from batchboard.views.figures import figures_of
from batchboard.views.item_page import item_page
from batchboard.views.limits_bar import limits_bar
from batchboard.views.sharing import shared
from batchboard.views.workers import workers_lately


@require_safe
def batch(request: HttpRequest, public_id: str) -> HttpResponse:
    context = _batch(request, public_id)
    context["bar"] = limits_bar(context["limits"], context["workers"], rows.now())
    return render(request, "batch/batch.html", context)


@require_safe
@shared
def batch_live(request: HttpRequest, public_id: str) -> HttpResponse:
    return render(request, "batch/_live.html", _batch(request, public_id))


def _batch(request: HttpRequest, public_id: str) -> dict[str, Any]:
    versions = TaskVersion.objects.filter(task_type=OuterRef("version__task_type"))
    newest = versions.order_by("-number").values("number")[:1]
    batches = with_relations(Batch.objects.annotate(newest_number=Subquery(newest)))
    related = ("rerun_of", "clone_of", "started_by", "recurring_run__recurring")
    batches = batches.select_related(*related)
    found = get_object_or_404(batches, public_id=public_id)
    limits = Limits.objects.current()
    now = rows.now()
    workers = workers_lately(now)
    live = {found.pk: found.live_items}
    card = cards([found], limits=limits, live=live, workers=len(workers.alive), now=now)[found.pk]
    asked = Asked.of(request.GET)
    failed = failures(found)
    page = item_page(found, asked)
    return {
        "card": card,
        "batch": found,
        "limits": limits,
        "workers": workers,
        "sent_at": _sent_at(found),
        "column": BY_NAME[column_of(found.state, found.started_at)].title,
        "may_operate": may(request.user, Right.OPERATE),
        "may_comment": may(request.user, Right.COMMENT),
        "may_export": may(request.user, Right.EXPORT),
        "changeable": found.state in CHANGEABLE_BATCH,
        "failures": failed,
        "all_succeeded": found.succeeded == found.total,
        "failed_attempts": sum(failure.attempts for failure in failed),
        "activity": activity(found),
        "page": page,
        "bulk": bulk(found, page, card.waiting),
        "outcome_name": said(asked.outcome) if asked.outcome else "",
        "export": _newest_export(found),
        "tabs": _tabs(card, asked),
    } | figures_of(found)


def _sent_at(batch: Batch) -> datetime | None:
    """When its first call was let through; of one that is queued, when somebody started it."""
    if batch.started_at is not None or batch.state not in UNFINISHED_BATCH:
        return batch.started_at
    starts = batch.events.filter(verb="batch.start").order_by("-id")
    return starts.values_list("at", flat=True).first()


def _newest_export(batch: Batch) -> Event | None:
    if batch.exported_at is None:
        return None
    exports = batch.events.filter(verb="results.exported").select_related("actor")
    return exports.order_by("-id").first()


def _tabs(card: Card, asked: Asked) -> list[dict[str, Any]]:
    """The states to choose from, with counts from the batch's own counters."""
    numbers = {
        "": card.batch.total,
        ItemState.SUCCEEDED: card.batch.succeeded,
        ItemState.RUNNING: card.in_flight,
        ItemState.WAITING: card.waiting,
        ItemState.DEAD: card.batch.dead,
        ItemState.CANCELLED: card.batch.cancelled,
    }
    return [
        {
            "title": (state or "all").capitalize(),
            "number": number,
            "address": asked.address(state=str(state), outcome=""),
            "current": asked.state == state and not asked.outcome,
        }
        for state, number in numbers.items()
        if state != ItemState.CANCELLED or number or asked.state == state
    ]
