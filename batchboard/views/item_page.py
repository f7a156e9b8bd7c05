"""One page of a batch's items, found by where the last one ended and never by counting."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from urllib.parse import urlencode

from django.db import connection
from django.http import QueryDict

from batchboard.models import Attempt, Batch, Item
from batchboard.models.item import ItemQuerySet
from batchboard.states import ItemState
from batchboard.views.failures import said
from dispatch.outcome import Outcome

PAGE = 50
LAST_CHARACTER = "\U0010ffff"
LARGEST_POSITION = 2**31 - 1


@dataclass(frozen=True)
class Asked:
    """What the address asks for: a state, the beginning of a key, and where the page begins.

    Pages go by position, and by key where a key is searched for, since that is the order that the
    index of keys yields.
    """

    state: str = ""
    prefix: str = ""
    after: str = ""
    before: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> "Asked":
        state = query.get("state", "")
        prefix = query.get("key", "").strip().replace("\x00", "")[:200]
        edges = {
            name: value.replace("\x00", "")[:200]
            for name in ("after", "before")
            if (value := query.get(name, "")) and (prefix or _position(value) is not None)
        }
        return cls(state if state in list(ItemState) else "", prefix, **edges)

    @property
    def column(self) -> str:
        return "key" if self.prefix else "position"

    def edge(self, value: str) -> str | int:
        return value if self.prefix else int(value)

    def address(self, **changes: str) -> str:
        """The query of a page like this one; a page of its own for anything that changes."""
        kept = {"state": self.state, "key": self.prefix} | changes
        given = {name: value for name, value in kept.items() if value}
        return f"?{urlencode(given)}" if given else "?"

    @property
    def here(self) -> str:
        """The query of exactly this page."""
        return self.address(after=self.after, before=self.before)


@dataclass(frozen=True)
class Row:
    """An item as the table shows it; what is not known is None."""

    item: Item
    last: str
    since: datetime | None
    input: int | None
    cached: int | None
    written: int | None
    output: int | None


@dataclass(frozen=True)
class ItemPage:
    asked: Asked
    rows: list[Row]
    previous: str
    next: str

    @property
    def span(self) -> str:
        """Which items these are, where position alone says it."""
        if self.asked.state or self.asked.prefix or not self.rows:
            return ""
        return f"{self.rows[0].item.position + 1:,}–{self.rows[-1].item.position + 1:,}"


def item_page(batch: Batch, asked: Asked) -> ItemPage:
    column, backwards = asked.column, bool(asked.before)
    searches = _matching(batch, asked)
    found = [item for items in searches for item in _beside(items, asked)]
    if len(searches) > 1:
        found.sort(key=attrgetter(column), reverse=backwards)
    more = len(found) > PAGE
    found = found[:PAGE]
    if backwards:
        found.reverse()
    more_before, more_after = (more, True) if backwards else (bool(asked.after), more)
    return ItemPage(
        asked=asked,
        rows=_rows(found),
        previous=asked.address(before=str(getattr(found[0], column)))
        if found and more_before
        else "",
        next=asked.address(after=str(getattr(found[-1], column))) if found and more_after else "",
    )


def _beside(items: ItemQuerySet, asked: Asked) -> ItemQuerySet:
    """The items next to the edge, and one more that tells whether there are others."""
    column = asked.column
    if asked.before:
        items = items.filter(**{f"{column}__lt": asked.edge(asked.before)})
        return items.order_by(f"-{column}")[: PAGE + 1]
    if asked.after:
        items = items.filter(**{f"{column}__gt": asked.edge(asked.after)})
    return items.order_by(column)[: PAGE + 1]


def _matching(batch: Batch, asked: Asked) -> list[ItemQuerySet]:
    """The items asked for, as searches that an index serves however many items there are."""
    items = Item.objects.filter(batch=batch)
    if asked.state == ItemState.RUNNING:
        # Few items run at once, and their live attempts name them; without the batch in its
        # conditions, the search cannot be led along the index of all of the batch's positions.
        running = list(batch.attempts.live().values_list("item_id", flat=True))
        items = Item.objects.filter(pk__in=running)
    if asked.prefix:
        items = _with_prefix(items, asked.prefix)
    if asked.state:
        items = items.filter(state=asked.state)
    if asked.state == ItemState.WAITING and not asked.prefix:
        fresh = items.filter(due_at__isnull=True, position__gte=batch.cursor)
        return [fresh, items.filter(due_at__isnull=False)]
    return [items]


def _with_prefix(items: ItemQuerySet, prefix: str) -> ItemQuerySet:
    """Items whose key begins so. SQLite's LIKE would not use the index of keys; a range does."""
    if connection.vendor == "sqlite":
        return items.filter(key__gte=prefix, key__lt=prefix + LAST_CHARACTER)
    return items.filter(key__startswith=prefix)


def _rows(items: list[Item]) -> list[Row]:
    tries: dict[int, list[Attempt]] = defaultdict(list)
    columns = ("item_id", "outcome", "granted_at", "started_at", "ended_at")
    for attempt in Attempt.objects.filter(item__in=items).only(*columns).order_by("id"):
        tries[attempt.item_id].append(attempt)
    return [_row(item, tries[item.pk]) for item in items]


def _row(item: Item, attempts: list[Attempt]) -> Row:
    live = next((attempt for attempt in attempts if attempt.ended_at is None), None)
    failed = [a.outcome for a in attempts if a.ended_at and a.outcome != Outcome.OK]
    measured = bool(item.input_tokens or item.output_tokens or item.cache_read_tokens)
    return Row(
        item=item,
        last=_last(item, failed, live),
        since=(live.started_at or live.granted_at) if live else None,
        input=item.input_tokens if measured else None,
        cached=item.cache_read_tokens if measured else None,
        written=item.cache_write_tokens or None,
        output=item.output_tokens if measured else None,
    )


def _last(item: Item, failed: list[str], live: Attempt | None) -> str:
    """What happened last, in the outcome's words."""
    if item.state == ItemState.SUCCEEDED:
        after = f", after {said(failed[-1])}" if failed else ""
        wrote = ", wrote the cache" if item.cache_write_tokens else ""
        return f"ok{after}{wrote}"
    if live is not None:
        began = "call in flight" if live.started_at else "on its way to a worker"
        return f"{began}, after {said(failed[-1])}" if failed else began
    if item.outcome:
        return f"{said(item.outcome)}: {item.problem}" if item.problem else said(item.outcome)
    return "not called yet" if item.state == ItemState.WAITING else ""


def _position(value: str) -> int | None:
    if not (value.isascii() and value.isdigit() and len(value) <= 10):
        return None
    return int(value) if int(value) <= LARGEST_POSITION else None
