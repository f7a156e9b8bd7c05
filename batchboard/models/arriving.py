"""How the items of a batch come in: in chunks, each a short transaction of its own.

A file of a million rows would otherwise hold the database's write lock for minutes, and stop the
engine for as long. So a batch is `ingesting` until its last item is stored; nothing can be done
with it before, and where that end is never reached nothing of it stays.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from batchboard import rows
from batchboard.models.decision import turn
from batchboard.models.item import Item, ItemInput
from batchboard.states import BatchState, ItemState, MoveRefused

if TYPE_CHECKING:
    from batchboard.models.batch import Batch

CHUNK = 1_000
ABANDONED = timedelta(minutes=10)
"""No chunk takes so long, not even behind a busy database: whoever stored the last one is gone."""

ITEM = (
    "batch_id", "position", "key", "prompt_bytes", "state", "tries", "outcome", "problem", "cost",
    "input_tokens", "output_tokens", "cache_write_tokens", "cache_read_tokens", "tries_since",
)  # fmt: skip
FRESH = (ItemState.WAITING.value, 0, "", "", 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class NewItem:
    """One item as it comes in: its key, its row, and the UTF-8 bytes of its rendered prompt."""

    key: str
    data: dict[str, Any]
    prompt_bytes: int


class Arriving:
    """Filling a batch with its items."""

    def fill(
        self: "Batch",
        items: Iterable[NewItem],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Store all items; where `items` raises, or a chunk cannot be stored, the batch and all of
        it is discarded. `progress` is told how many are stored."""
        try:
            for chunk in _chunks(items):
                self._take_in(chunk)
                if progress:
                    progress(self.total)
        except BaseException:
            self.discard()
            raise

    def arrive(self: "Batch", by: Any = None) -> None:
        """The last item is stored: the batch is a draft."""
        told = {"items": self.total}
        self._move("arrive", by, told, created_at=timezone.now(), filled_at=None)

    def discard(self: "Batch") -> None:
        """Delete a batch that is still ingesting, and whatever was stored of it."""
        while True:
            with turn(), transaction.atomic():
                standing = type(self).objects.filter(pk=self.pk, state=BatchState.INGESTING)
                if not standing.exists():
                    return
                ids = list(self.items.values_list("pk", flat=True)[:CHUNK])
                if not ids:
                    standing.delete()
                    return
                ItemInput.objects.filter(pk__in=ids)._raw_delete(self._state.db or "default")
                Item.objects.filter(pk__in=ids)._raw_delete(self._state.db or "default")

    def _take_in(self: "Batch", chunk: Sequence[NewItem]) -> None:
        with turn(), transaction.atomic():
            first = self.total
            standing = type(self).objects.filter(
                pk=self.pk, state=BatchState.INGESTING, total=first
            )
            if not standing.update(total=F("total") + len(chunk), filled_at=timezone.now()):
                raise MoveRefused(f"{self.name} was discarded while its items came in.")
            stored = rows.insert_rows(
                "batchboard_item",
                ITEM,
                [(self.pk, first + n, new.key, new.prompt_bytes, *FRESH)
                 for n, new in enumerate(chunk)],
                returning="id, position",
            )  # fmt: skip
            rows.insert_rows(
                "batchboard_iteminput",
                ("item_id", "data"),
                [(pk, json.dumps(chunk[position - first].data)) for pk, position in stored],
            )
        self.total = first + len(chunk)


def abandoned(batches: Any, now: datetime) -> Any:
    """Those of `batches` whose filling ended without an end: its process was killed."""
    return batches.filter(state=BatchState.INGESTING, filled_at__lt=now - ABANDONED)


def _chunks(items: Iterable[NewItem]) -> Iterator[list[NewItem]]:
    source = iter(items)
    while chunk := list(islice(source, CHUNK)):
        yield chunk
