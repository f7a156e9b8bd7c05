"""Worker processes as pages tell of them: those that live, of those that were there lately."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from batchboard.models import Worker

GONE_SHOWN = timedelta(minutes=30)
"""So long a worker that was lost is told of."""


@dataclass(frozen=True)
class Workers:
    """`known` counts a worker that was started anew, under the name of the one before, once."""

    alive: Sequence[Worker]
    known: int


def workers_lately(now: datetime) -> Workers:
    """In one query. Those that hold a lease live, whether or not they consume."""
    lately = list(Worker.objects.filter(lease_until__gt=now - GONE_SHOWN))
    alive = [one for one in lately if not one.fenced and one.lease_until > now]
    return Workers(alive, len({one.node for one in lately}))
