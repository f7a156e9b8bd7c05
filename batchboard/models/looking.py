"""What came back for one item, so that a person can judge it or find out what went wrong.

This is no way out: it reads one item at a time, or trials of one item each, for a page that shows
it as text to somebody who signed in. What leaves goes through `Batch.released_results()` alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from batchboard.models.attempt import Answer
from batchboard.models.item import Item


@dataclass(frozen=True)
class Returned:
    """What the provider sent for one attempt."""

    text: str
    stop_reason: str


def returned(item: Item) -> dict[int, Returned]:
    """What came back for each attempt at `item` that was answered, by the attempt's id."""
    rows = Answer.objects.filter(attempt__item=item)
    return {row.attempt_id: Returned(row.text, row.stop_reason) for row in rows}


def last_returned(attempts: Iterable[int]) -> dict[int, Returned]:
    """What came back for attempts of trials, by their ids: batches of one item, made to be seen."""
    rows = Answer.objects.filter(attempt__in=list(attempts), attempt__batch__trial=True)
    return {row.attempt_id: Returned(row.text, row.stop_reason) for row in rows}
