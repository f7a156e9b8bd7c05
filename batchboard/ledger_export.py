"""The ledger as CSV: one row per attempt, newest first, streamed."""

import csv
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from typing import Any

from batchboard.export import harmless
from batchboard.ledger import NOBODY_NAME, Chosen, every, rates_of
from batchboard.models import Batch, Price
from batchboard.money import plain
from batchboard.pricing import KINDS, dollars_per_million

TITLES = (
    "time", "batch", "item", "task_type", "version", "model", "mode", "owner", "outcome",
    *(f"{kind}_tokens" for kind in KINDS), *(f"{kind}_usd_per_million" for kind in KINDS),
    "price_source", "cost_usd", "bound_usd", "request_id",
)  # fmt: skip
ROWS_AT_ONCE = 500


def ledger_csv(chosen: Chosen) -> Iterator[bytes]:
    """The file in pieces. An unknown cost is empty, with its bound beside it where it has one."""
    buffer = StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(TITLES)
    lines = _lines(chosen)
    while True:
        some = list(islice(lines, ROWS_AT_ONCE))
        writer.writerows(some)
        yield buffer.getvalue().encode(errors="replace")
        buffer.seek(0)
        buffer.truncate()
        if len(some) < ROWS_AT_ONCE:
            return


def _lines(chosen: Chosen) -> Iterator[list[Any]]:
    batch: Batch | None = None
    prices: dict[int, Price] = {}
    for one in every(chosen):
        if batch is None or batch.pk != one.batch_id:
            batch = Batch.objects.select_related("version__task_type", "owner").get(pk=one.batch_id)
        if one.price_id is not None and one.price_id not in prices:
            prices[one.price_id] = Price.objects.get(pk=one.price_id)
        price = prices.get(one.price_id)
        rates = rates_of(price, one)
        has_bound = one.cost is None and price is not None
        yield [
            one.ended_at.isoformat(),
            batch.public_id,
            harmless(one.item__key),
            harmless(batch.version.task_type.name),
            batch.version.number,
            harmless(one.model),
            one.mode,
            harmless(str(batch.owner)) if batch.owner else NOBODY_NAME,
            one.outcome,
            *(getattr(one, f"{kind}_tokens") for kind in KINDS),
            *(plain(dollars_per_million(getattr(rates, kind))) if rates else "" for kind in KINDS),
            harmless(price.source) if price else "",
            "" if one.cost is None else plain(one.cost),
            plain(one.reserved) if has_bound else "",
            harmless(one.request_id),
        ]
