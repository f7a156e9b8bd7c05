"""The board, and its two fragments: the same partials serve all three."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from batchboard import rows
from batchboard.models import Limits, Preparation
from batchboard.views.cards import Card, cards, live_items
from batchboard.views.columns import COLUMNS, ENDED, NAMES, Column, counts
from batchboard.views.limits_bar import limits_bar
from dispatch import pump


@dataclass(frozen=True)
class FilledColumn:
    """A column with the cards that it shows and the number of those that it does not."""

    column: Column
    total: int
    cards: list[Card]
    shown: bool
    """Whether a narrow screen, which has room for one column, shows this one."""

    @property
    def hidden(self) -> int:
        return self.total - len(self.cards)


@require_safe
def board(request: HttpRequest) -> HttpResponse:
    return render(request, "board/board.html", _columns(request) | _limits())


@require_safe
def board_columns(request: HttpRequest) -> HttpResponse:
    return render(request, "board/_columns.html", _columns(request))


@require_safe
def board_limits(request: HttpRequest) -> HttpResponse:
    return render(request, "board/_limits.html", _limits())


def _columns(request: HttpRequest) -> dict[str, Any]:
    limits = Limits.objects.select_related("paused_by").first() or Limits.objects.current()
    now = rows.now()
    with_ended = "ended" in request.GET
    asked = request.GET.get("column", "")
    shown = asked if asked in NAMES else "running"
    number = counts()
    columns = (*COLUMNS, ENDED) if with_ended else COLUMNS
    batches = {column.name: column.first() for column in columns}
    live = live_items(limits)
    found = cards(
        [batch for column in batches.values() for batch in column],
        limits=limits,
        live=live,
        workers=len(pump.alive(now)),
        now=now,
    )
    return {
        "columns": [
            FilledColumn(
                column,
                max(number[column.name], len(batches[column.name])),
                [found[batch.pk] for batch in batches[column.name]],
                column.name == shown,
            )
            for column in columns
        ],
        "preparations": list(Preparation.objects.shown_on_board()),
        "total": sum(number[column.name] for column in (*COLUMNS, ENDED)),
        "rejected": number["rejected"],
        "cancelled": number["ended"] - number["rejected"],
        "with_ended": with_ended,
        "shown": shown,
        "in_flight": sum(live.values()),
        "limits": limits,
    }


def _limits() -> dict[str, Any]:
    now = rows.now()
    limits = Limits.objects.select_related("paused_by").first() or Limits.objects.current()
    return {"bar": limits_bar(limits, pump.alive(now), now)}
