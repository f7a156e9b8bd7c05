"""The cap that held for a batch's calls over its course, and when they had to pause."""

from dataclasses import dataclass
from datetime import datetime

from batchboard.models import Batch, Event, Limits
from batchboard.plots import Pause

EVENTS_READ = 200


@dataclass(frozen=True)
class History:
    """Points (seconds since the start, cap), and the times in which nothing was let through."""

    cap: list[tuple[float, float | None]]
    pauses: list[Pause]


def history(batch: Batch, limits: Limits, until: datetime, end: float) -> History:
    """From the events of cuts and changes; `end` is where the plot ends."""
    origin = batch.started_at or until
    changes = Event.objects.filter(batch=None, verb__in=["limits.cut", "limits.changed"])
    events = list(changes.filter(at__gte=origin).order_by("-id")[:EVENTS_READ])[::-1]
    during = [event for event in events if event.at <= until]
    now = float(limits.cap_in_force if batch.finished_at is None else limits.cap)
    first = next((_before(event) for event in events), now)
    points: list[tuple[float, float | None]] = [(0.0, first)]
    for event in during:
        after = _after(event)
        if after is not None:
            points.append(((event.at - origin).total_seconds(), after))
    if batch.finished_at is None:
        points.append(((until - origin).total_seconds(), now))
    points.append((end, points[-1][1]))
    own = batch.concurrency
    if own is not None:
        points = [(at, float(own) if cap is None else min(cap, float(own))) for at, cap in points]
    return History(points, [*_limited(batch, during, origin, end), *own_pauses(batch, origin, end)])


def _before(event: Event) -> float | None:
    before = event.detail.get("before")
    return float(before) if before is not None else None


def _after(event: Event) -> float | None:
    value = event.detail.get("after") or event.detail.get("concurrency")
    return float(value) if value is not None else None


def _limited(batch: Batch, cuts: list[Event], origin: datetime, end: float) -> list[Pause]:
    found = []
    for event in cuts:
        seconds = event.detail.get("seconds")
        if event.verb == "limits.cut" and event.detail.get("model") == batch.version.model:
            at, length = (event.at - origin).total_seconds(), float(seconds or 1)
            found.append(Pause(at, min(end, at + length), f"429: all wait {length:g} s"))
    return found


def own_pauses(batch: Batch, origin: datetime, end: float) -> list[Pause]:
    """When a person paused the batch, or it stood still until one acted."""
    found = []
    verbs = ["batch.pause", "batch.resume", "batch.blocked", "batch.unblocked"]
    own = batch.events.filter(verb__in=verbs).order_by("-id")[:EVENTS_READ]
    began: tuple[float, str] | None = None
    for event in reversed(own):
        at = (event.at - origin).total_seconds()
        if event.verb in {"batch.pause", "batch.blocked"}:
            began = began or (at, "paused" if event.verb == "batch.pause" else "blocked")
        elif began is not None:
            found.append(Pause(max(0.0, began[0]), at, began[1]))
            began = None
    if began is not None and batch.finished_at is None:
        found.append(Pause(max(0.0, began[0]), end, began[1]))
    return found
