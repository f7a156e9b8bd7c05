"""The page of one batch, and its live fragment: the same partial serves both."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from batchboard import rows
from batchboard.models import Batch, Limits
from batchboard.states import ItemState
from batchboard.views.activity import activity
from batchboard.views.cards import Card, cards
from batchboard.views.columns import COLUMNS, ENDED, column_of, with_relations
from batchboard.views.failures import failures
from batchboard.views.item_page import Asked, item_page
from dispatch import pump

TITLES = {column.name: column.title for column in (*COLUMNS, ENDED)}


@require_safe
def batch(request: HttpRequest, public_id: str) -> HttpResponse:
    return render(request, "batch/batch.html", _batch(request, public_id))


@require_safe
def batch_live(request: HttpRequest, public_id: str) -> HttpResponse:
    return render(request, "batch/_live.html", _batch(request, public_id))


def _batch(request: HttpRequest, public_id: str) -> dict[str, Any]:
    found = get_object_or_404(with_relations(Batch.objects.all()), public_id=public_id)
    limits = Limits.objects.current()
    now = rows.now()
    workers = len(pump.alive(now))
    live = {found.pk: found.live_items}
    card = cards([found], limits=limits, live=live, workers=workers, now=now)[found.pk]
    asked = Asked.of(request.GET)
    prompt_tokens = found.input_tokens + found.cache_read_tokens + found.cache_write_tokens
    return {
        "card": card,
        "batch": found,
        "limits": limits,
        "column": TITLES[column_of(found.state, found.started_at)],
        "cache_share": found.cache_read_tokens / prompt_tokens if prompt_tokens else None,
        "failures": failures(found),
        "activity": activity(found),
        "page": item_page(found, asked),
        "tabs": _tabs(card, asked),
    }


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
            "address": asked.address(state=str(state)),
            "current": asked.state == state,
        }
        for state, number in numbers.items()
        if state != ItemState.CANCELLED or number or asked.state == state
    ]
