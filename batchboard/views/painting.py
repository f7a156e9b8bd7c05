"""Paints what changed of batches, once for all browsers that are shown the same."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime

from asgiref.sync import sync_to_async
from django.template.loader import render_to_string

from batchboard import rows
from batchboard.models import Batch, Limits
from batchboard.roles import Right
from batchboard.views.card_markup import card_markup
from batchboard.views.cards import Card, cards, live_items
from batchboard.views.columns import BY_NAME, column_of, fetch_relations
from batchboard.views.figures import figures_of
from batchboard.views.limits_bar import limits_bar
from batchboard.views.workers import Workers, workers_lately
from dispatch.database import close_connections

REMEMBERED = 10_000
"""Batches whose places are kept in mind; beyond, all are forgotten, and browsers ask once more."""


@dataclass(frozen=True)
class View:
    """What a browser looks at. Those with the same view are shown the same."""

    rights: frozenset[Right] = frozenset()
    board: bool = False
    batch: str = ""
    watched: frozenset[str] = field(default=frozenset(), compare=False)
    """Batches that the browser hears of together; it is shown nothing else for them."""


@dataclass(frozen=True)
class Painted:
    """Elements to put in the place of those with the same id, for each view, and whether anything
    moved beyond them."""

    patches: Mapping[View, Mapping[str, str]] = field(default_factory=dict)
    moved: bool = True


class Painter:
    """Remembers where batches stood, to tell a figure that changed from a card that moved."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[str, str]] = {}

    async def __call__(self, changed: Set[str], views: Set[View]) -> Painted:
        """Elements for each of `views`, of the batches with the public ids in `changed`."""
        return await sync_to_async(self._paint, thread_sensitive=False)(changed, views)

    def _paint(self, changed: Set[str], views: Set[View]) -> Painted:
        try:
            limits = Limits.objects.current()
            now = rows.now()
            workers = workers_lately(now)
            found = _cards(changed, limits, len(workers.alive), now)
            moved = self._moved(found, changed)
            bar = {"limits": _bar(limits, workers, now)}
            return Painted({view: bar | _elements(found, limits, view) for view in views}, moved)
        finally:
            close_connections()

    def _moved(self, found: Iterable[Card], changed: Set[str]) -> bool:
        """Whether a card changed its place, or anything changed that is no card."""
        places = {c.batch.public_id: (c.batch.state, c.batch.blocked) for c in found}
        known = {public_id: self._places.get(public_id) for public_id in changed}
        if len(self._places) > REMEMBERED:
            self._places.clear()
        self._places.update(places)
        return any(
            public_id not in places or places[public_id] != place
            for public_id, place in known.items()
        )


def _cards(changed: Set[str], limits: Limits, workers: int, now: datetime) -> list[Card]:
    batches = list(Batch.objects.with_pages().filter(public_id__in=changed))
    fetch_relations(batches)
    found = cards(batches, limits=limits, live=live_items(limits), workers=workers, now=now)
    return list(found.values())


def _bar(limits: Limits, workers: Workers, now: datetime) -> str:
    return render_to_string("partials/limits_bar.html", {"bar": limits_bar(limits, workers, now)})


def _elements(found: Iterable[Card], limits: Limits, view: View) -> dict[str, str]:
    """By their ids: cards where the board is seen, figures where the batch is."""
    elements: dict[str, str] = {}
    for card in found:
        batch = card.batch
        if view.board and not batch.experimental:
            column = BY_NAME[column_of(batch.state, batch.started_at)]
            elements[f"card-{batch.public_id}"] = card_markup(card, column, view.rights)
        if view.batch == batch.public_id:
            context = {"card": card, "batch": batch, "limits": limits} | figures_of(batch)
            elements["progress"] = render_to_string("batch/_progress.html", context)
            elements["figures"] = render_to_string("batch/_figures.html", context)
    return elements
