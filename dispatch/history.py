"""History: what the installation did, written down by the pump every ten seconds for the plots.

Outside of the governor's decision, and never worth failing for: what is missed here is missing from
a plot, and nowhere else.
"""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Q

from batchboard import rows
from batchboard.models import Limits, Sample
from batchboard.models.sample import KEPT

log = logging.getLogger(__name__)

EVERY = timedelta(seconds=min(KEPT))
TIDY_SECONDS = 300

ENDED = (
    "SELECT model, SUM(slot), SUM(CASE WHEN outcome = 'rate_limited' THEN slot ELSE 0 END),"
    " SUM(COALESCE(input_tokens, 0) + COALESCE(cache_write_5m_tokens, 0)"
    " + COALESCE(cache_write_1h_tokens, 0)), SUM(COALESCE(output_tokens, 0)),"
    " SUM(COALESCE(cost, 0)) FROM batchboard_attempt"
    " WHERE id >= %s AND ended_at > %s AND ended_at <= %s AND started_at IS NOT NULL"
    " AND submission_id IS NULL GROUP BY model"
)
SUBMITTED = (
    "SELECT model, 0, 0, 0, 0, SUM(COALESCE(cost, 0)) FROM batchboard_attempt"
    " WHERE submission_id IS NOT NULL AND ended_at > %s AND ended_at <= %s GROUP BY model"
)
"""What ended in message batches costs money, and counts against no limit per minute."""

COLUMNS = (
    "seconds", "at", "model", "in_flight", "cap", "requests", "limited", "input_tokens",
    "output_tokens", "spend",
)  # fmt: skip
TABLE = "batchboard_sample"


def sample(limits: Limits, in_flight: int, now: datetime) -> None:
    """Write a sample where one is due; `limits` is as the pump just read it."""
    since = limits.sampled_at
    if since is not None and timedelta(0) <= now - since < EVERY:
        return
    try:
        with transaction.atomic():
            # Of several pumps, the one whose update finds the row unchanged writes.
            mine = Limits.objects.filter(pk=limits.pk, sampled_at=since)
            if mine.update(sampled_at=now, sampled_from=limits.oldest_live):
                _write(limits, in_flight, since or now, now)
    except DatabaseError as error:
        log.warning("no sample was written: %s", error)


def _write(limits: Limits, in_flight: int, since: datetime, now: datetime) -> None:
    # What ended since was live at the sample before, or is younger: so it is not older than the
    # oldest that was live then, and few rows are read however long the ledger is.
    ended = rows.execute(ENDED, [limits.sampled_from, since, now])
    ended = _merged(ended + rows.execute(SUBMITTED, [since, now]))
    counts: list[tuple[object, ...]] = [("", in_flight, limits.cap_in_force, 0, 0, 0, 0, 0)]
    counts += [(model, 0, 0, *(int(number) for number in sums)) for model, *sums in ended]
    values = [
        (seconds, _begin(now, seconds), *count) for seconds in sorted(KEPT) for count in counts
    ]
    _add(values)
    if int(now.timestamp()) % TIDY_SECONDS < EVERY.total_seconds():
        old = Q()
        for seconds, kept in KEPT.items():
            old |= Q(seconds=seconds, at__lt=now - kept)
        Sample.objects.filter(old).delete()


def _merged(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """One row for each model: no statement may write a sample twice."""
    by_model: dict[str, tuple[Any, ...]] = {}
    for model, *sums in found:
        before = by_model.get(model, (0,) * len(sums))
        by_model[model] = tuple(a + b for a, b in zip(before, sums, strict=True))
    return [(model, *sums) for model, sums in by_model.items()]


def _begin(now: datetime, seconds: int) -> datetime:
    """Where the sample of so many seconds that holds `now` begins; the shortest are not folded."""
    if seconds == min(KEPT):
        return now
    return datetime.fromtimestamp(now.timestamp() // seconds * seconds, UTC)


def _add(values: list[tuple[object, ...]]) -> None:
    """One statement: new rows, and sums where a longer sample is there already."""
    row = f"({', '.join(['%s'] * len(COLUMNS))})"
    sums = ", ".join(f"{name} = {TABLE}.{name} + excluded.{name}" for name in COLUMNS[5:])
    rows.execute(
        f"INSERT INTO {TABLE} ({', '.join(COLUMNS)}) VALUES {', '.join([row] * len(values))}"  # noqa: S608 - our own words
        f" ON CONFLICT (seconds, at, model) DO UPDATE SET {sums},"
        f" in_flight = CASE WHEN excluded.in_flight > {TABLE}.in_flight"
        f" THEN excluded.in_flight ELSE {TABLE}.in_flight END,"
        f" cap = CASE WHEN excluded.cap < {TABLE}.cap THEN excluded.cap ELSE {TABLE}.cap END",
        [value for one in values for value in one],
    )
