"""One page of a batch's items, found by where the last one ended and never by counting."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from batchboard.models import Attempt, Batch, Item
from batchboard.money import decimals_of
from batchboard.states import ItemState
from batchboard.views.asked import Asked
from batchboard.views.failures import said
from batchboard.views.item_search import found
from batchboard.views.submitted import under_way
from dispatch.outcome import Outcome

PAGE = 50


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
    def decimals(self) -> int:
        """Those of the costs in the table, which stand under each other."""
        return decimals_of(row.item.cost for row in self.rows)

    @property
    def span(self) -> str:
        """Which items these are, where position alone says it."""
        if self.asked.filtered or not self.rows:
            return ""
        return f"{self.rows[0].item.position + 1:,}–{self.rows[-1].item.position + 1:,}"


def item_page(batch: Batch, asked: Asked) -> ItemPage:
    column, backwards = asked.column, bool(asked.before)
    items = found(batch, asked, PAGE + 1)
    more = len(items) > PAGE
    items = items[:PAGE]
    if backwards:
        items.reverse()
    more_before, more_after = (more, True) if backwards else (bool(asked.after), more)
    return ItemPage(
        asked=asked,
        rows=_rows(items),
        previous=asked.address(before=str(getattr(items[0], column)))
        if items and more_before
        else "",
        next=asked.address(after=str(getattr(items[-1], column))) if items and more_after else "",
    )


def _rows(items: list[Item]) -> list[Row]:
    tries: dict[int, list[Attempt]] = defaultdict(list)
    columns = ("item_id", "outcome", "granted_at", "started_at", "ended_at", "submission__state",
               "submission__sent_at")  # fmt: skip
    attempts = Attempt.objects.filter(item__in=items).select_related("submission")
    for attempt in attempts.only(*columns).order_by("id"):
        tries[attempt.item_id].append(attempt)
    return [_row(item, tries[item.pk]) for item in items]


def _row(item: Item, attempts: list[Attempt]) -> Row:
    live = next((attempt for attempt in attempts if attempt.ended_at is None), None)
    failed = [a.outcome for a in attempts if a.ended_at and a.outcome != Outcome.OK]
    measured = bool(item.input_tokens or item.output_tokens or item.cache_read_tokens)
    return Row(
        item=item,
        last=_last(item, failed, live),
        since=_since(live) if live else None,
        input=item.input_tokens if measured else None,
        cached=item.cache_read_tokens if measured else None,
        written=item.cache_write_tokens or None,
        output=item.output_tokens if measured else None,
    )


def _since(live: Attempt) -> datetime:
    sent = live.submission.sent_at if live.submission else None
    return live.started_at or sent or live.granted_at


def _last(item: Item, failed: list[str], live: Attempt | None) -> str:
    """What happened last, in the outcome's words."""
    if item.state == ItemState.SUCCEEDED:
        after = f", after {said(failed[-1])}" if failed else ""
        wrote = ", wrote the cache" if item.cache_write_tokens else ""
        return f"ok{after}{wrote}"
    if live is not None:
        began = "call in flight" if live.started_at else "on its way to a worker"
        began = under_way(live.submission) if live.submission else began
        return f"{began}, after {said(failed[-1])}" if failed else began
    if item.outcome:
        return f"{said(item.outcome)}: {item.problem}" if item.problem else said(item.outcome)
    return "not called yet" if item.state == ItemState.WAITING else ""
