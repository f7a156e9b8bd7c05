"""The course of a batch, counted by the database. What has ended stays as it was, so a process
keeps it and asks only for what ended since."""

from datetime import datetime, timedelta

from django.core.cache import cache
from django.db import connection

from batchboard import rows
from batchboard.models import Batch
from batchboard.plot_data import LATENCY_STEP, Counted, Course

KEPT_SECONDS = 3_600
SETTLED_AFTER = timedelta(seconds=5)
"""What ended longer ago than this was committed: nothing is added before it any more."""

ROOM_AFTER_NOW = 1.12

COURSE = """
SELECT {began}, {ended}, COUNT(*), SUM(CASE WHEN outcome = 'ok' THEN 1 ELSE 0 END),
       COALESCE(SUM(cost), 0)
FROM batchboard_attempt
WHERE batch_id = %s AND ended_at > %s AND ended_at <= %s
GROUP BY 1, 2
"""
LATENCY = """
SELECT latency_ms / %s, COUNT(*) FROM batchboard_attempt
WHERE batch_id = %s AND ended_at > %s AND ended_at <= %s AND latency_ms IS NOT NULL
GROUP BY 1
"""
LIVE = (
    "SELECT started_at FROM batchboard_attempt"
    " WHERE batch_id = %s AND ended_at IS NULL AND submission_id IS NULL"
)


def extent(batch: Batch, now: datetime) -> tuple[float, float]:
    """Seconds since the start until now (or the end of the run), and until a plot's end."""
    origin = batch.started_at or now
    until = max(0.5, ((batch.finished_at or now) - origin).total_seconds())
    return until, until if batch.finished_at else until * ROOM_AFTER_NOW


def course_of(batch: Batch, now: datetime) -> Course:
    """Everything until `now`, attempts that are still in flight too."""
    origin = batch.started_at or now
    seconds = max(1.0, ((batch.finished_at or now) - origin).total_seconds())
    settled = now - SETTLED_AFTER
    known, course = cache.get(_key("course", batch)) or (origin - timedelta(days=1), Course())
    course.widen(seconds)
    course.add(_counted(batch, origin, course.width, known, settled))
    cache.set(_key("course", batch), (max(known, settled), course), KEPT_SECONDS)
    whole: Course = course.copy()
    whole.add(_counted(batch, origin, whole.width, max(known, settled), now))
    for (started,) in rows.execute(LIVE, [batch.pk]):
        at = rows.moment(started)
        if at is not None:
            whole.began[max(0, int((at - origin).total_seconds() / whole.width))] += 1
    return whole


def latency_counts(batch: Batch, now: datetime) -> dict[int, int]:
    """Attempts by latency, in steps of `LATENCY_STEP`."""
    settled = now - SETTLED_AFTER
    earliest = (batch.started_at or now) - timedelta(days=1)
    known, counts = cache.get(_key("latency", batch)) or (earliest, {})
    _add(counts, _latencies(batch, known, settled))
    cache.set(_key("latency", batch), (max(known, settled), counts), KEPT_SECONDS)
    whole = dict(counts)
    _add(whole, _latencies(batch, max(known, settled), now))
    return whole


def _counted(
    batch: Batch, origin: datetime, width: float, after: datetime, until: datetime
) -> list[Counted]:
    if after >= until:
        return []
    sql = COURSE.format(began=_span("COALESCE(started_at, granted_at)"), ended=_span("ended_at"))
    params = [origin, width, origin, width, batch.pk, after, until]
    return [
        Counted(max(0, int(began)), max(0, int(ended)), int(number), int(good), int(cost))
        for began, ended, number, good, cost in rows.execute(sql, params)
    ]


def _latencies(batch: Batch, after: datetime, until: datetime) -> list[tuple[int, int]]:
    if after >= until:
        return []
    step = round(LATENCY_STEP * 1000)
    found = rows.execute(LATENCY, [step, batch.pk, after, until])
    return [(int(latency), int(number)) for latency, number in found]


def _span(column: str) -> str:
    """The number of the span that a moment lies in: of parameters origin and width."""
    if connection.vendor == "postgresql":
        seconds = f"EXTRACT(EPOCH FROM ({column} - CAST(%s AS timestamptz)))"
        return f"CAST(FLOOR({seconds} / CAST(%s AS double precision)) AS bigint)"
    return f"CAST((julianday({column}) - julianday(%s)) * 86400 / %s AS INTEGER)"


def _add(counts: dict[int, int], more: list[tuple[int, int]]) -> None:
    for step, number in more:
        counts[step] = counts.get(step, 0) + number


def _key(what: str, batch: Batch) -> str:
    stamp = batch.started_at.timestamp() if batch.started_at else 0
    return f"{what}-{batch.pk}-{stamp}"
