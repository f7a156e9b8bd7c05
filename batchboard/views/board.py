"""The board, and its fragments: the same partials serve them all."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from batchboard import rows
from batchboard.models import Batch, Limits, Preparation, TaskType, User
from batchboard.roles import Right, rights_of
from batchboard.views.board_filter import MOST_CARDS, STATES, BoardFilter
from batchboard.views.card_markup import card_markup
from batchboard.views.cards import calls_in_flight, cards, live_items
from batchboard.views.columns import (
    BY_NAME,
    CARDS_SHOWN,
    COLUMNS,
    ENDED,
    Column,
    counts,
    fetch_relations,
)
from batchboard.views.limits_bar import limits_bar
from batchboard.views.sharing import shared
from batchboard.views.workers import workers_lately

MOST_LIKELY_WANTED = ("running", "review", "queued", "draft", "released")
"""Where a narrow screen looks for cards, if nobody asked for a column."""


@dataclass(frozen=True)
class FilledColumn:
    """A column with the cards that it shows and the number of those that it does not."""

    column: Column
    total: int
    cards: list[SafeString]
    shown: bool
    """Whether a narrow screen, which has room for one column, shows this one."""

    tab: str
    """The address of the board with this column on a narrow screen."""

    more: str
    """The address of the board with more cards in this column, where there may be more."""

    @property
    def hidden(self) -> int:
        return self.total - len(self.cards)

    @property
    def next(self) -> int:
        """How many cards it shows with the next fifty."""
        return min(MOST_CARDS, len(self.cards) + CARDS_SHOWN)


@require_safe
def board(request: HttpRequest) -> HttpResponse:
    shown, now = _shown(request), rows.now()
    context = _columns(shown, rights_of(request.user), now)
    limits, workers = context["limits"], context["workers"]
    context |= _choices() | {"bar": limits_bar(limits, workers, now)}
    return render(request, "board/board.html", context)


@require_safe
def board_columns(request: HttpRequest) -> HttpResponse:
    """What somebody asks for after a move of their own must not be an answer from before it; and
    the cards of preparations are not the same for everybody."""
    own = request.headers.get("Cache-Control") == "no-cache"
    if own or Preparation.objects.shown_on_board().exists():
        return _board_columns(request)
    return _shared_columns(request)


def _board_columns(request: HttpRequest) -> HttpResponse:
    context = _columns(_shown(request), rights_of(request.user), rows.now())
    return render(request, "board/_columns.html", context)


_shared_columns = shared(_board_columns)


@require_safe
@shared
def board_limits(request: HttpRequest) -> HttpResponse:
    return render(request, "partials/limits_bar.html")


def _shown(request: HttpRequest) -> BoardFilter:
    return BoardFilter.of(request.GET.dict())


def _columns(shown: BoardFilter, rights: frozenset[Right], now: datetime) -> dict[str, Any]:
    limits = Limits.objects.shown()
    workers = workers_lately(now)
    among = shown.batches()
    number = counts(among)
    columns = (*COLUMNS, ENDED) if shown.ended else COLUMNS
    preparations = [] if shown.narrows else list(Preparation.objects.shown_on_board())
    unasked = _first_with_cards(number, has_preparations=bool(preparations))
    read = {column.name: column.batches(among, shown.most(column.name)) for column in columns}
    batches = _each_once(read)
    every = [batch for column in batches.values() for batch in column]
    fetch_relations(every)
    found = cards(
        every, limits=limits, live=live_items(limits), workers=len(workers.alive), now=now
    )
    filled = [
        _fill(
            column,
            number[column.name] - len(read[column.name]) + len(batches[column.name]),
            [card_markup(found[batch.pk], column, rights) for batch in batches[column.name]],
            shown,
            shown.column or unasked,
        )
        for column in columns
    ]
    return {
        "filter": shown,
        "columns": filled,
        "unasked": unasked,
        "preparations": preparations,
        "total": sum(number[name] for name in BY_NAME),
        "rejected": number["rejected"],
        "cancelled": number["ended"] - number["rejected"],
        "toggle": shown.address(
            ended="" if shown.ended else "1", column="" if shown.ended else "ended"
        ),
        "in_flight": calls_in_flight(limits),
        "limits": limits,
        "workers": workers,
    }


def _each_once(batches: dict[str, list[Batch]]) -> dict[str, list[Batch]]:
    """Columns are read one after the other: a batch that moves on meanwhile is found in two, and
    stands where it was found last."""
    last = {batch.pk: name for name, found in batches.items() for batch in found}
    return {name: [b for b in found if last[b.pk] == name] for name, found in batches.items()}


def _first_with_cards(number: dict[str, int], *, has_preparations: bool) -> str:
    """What a narrow screen opens on: no empty column while another has cards."""
    for name in MOST_LIKELY_WANTED:
        if number[name] or (name == "draft" and has_preparations):
            return name
    return MOST_LIKELY_WANTED[0]


def _fill(
    column: Column, number: int, found: list[SafeString], shown: BoardFilter, opened: str
) -> FilledColumn:
    more = shown.address(**{column.name: min(MOST_CARDS, len(found) + CARDS_SHOWN)})
    return FilledColumn(
        column,
        max(number, len(found)),
        found,
        column.name == opened,
        shown.address(column=column.name),
        more if len(found) < min(number, MOST_CARDS) else "",
    )


def _choices() -> dict[str, Any]:
    """What the filters offer."""
    return {
        "task_types": list(TaskType.objects.order_by("name").values_list("pk", "name")),
        "owners": list(User.objects.filter(batch__trial=False).distinct().order_by("username")),
        "states": [(name, title) for name, (title, _) in STATES.items()],
    }
