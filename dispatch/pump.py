"""The pump: starts work where no completion can, and spreads it over the worker processes."""

import logging
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F

from batchboard.models import Attempt, Batch, Worker
from batchboard.states import UNFINISHED_BATCH
from dispatch import governor, history, rescue
from dispatch.deciding import Deciding, deciding
from dispatch.live import count_live

log = logging.getLogger(__name__)

FRESH_SECONDS = 8.0
"""A worker that took no message off its queue for so long gets no more until it does."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Calls for one worker, to be sent in one message."""

    number: int
    node: str


@dataclass(frozen=True, slots=True)
class Pumped:
    """What a round of the pump decided: grants to send, workers to ping, and the seconds until
    another round is worth it, if time alone helps."""

    grants: list[Grant]
    nodes: list[str]
    retry_in: float | None


def pump() -> Pumped:
    """Rescue, let through what fits, and finish what is done."""
    with deciding() as made:
        made.limits.pumped_at = made.now
        rescue.sweep(made.limits, made.now)
        made.limits.lift_last_months_ceiling(made.now)
        workers = alive(made.now)
        fresh = made.now - timedelta(seconds=FRESH_SECONDS)
        live = count_live(made.limits)
        targets = [
            governor.Target(w.pk, governor.fair_room(made.limits, live, w.pk, len(workers)))
            for w in workers
            if w.consumed_at > fresh
        ]
        admission = governor.admit(made, targets, live, granted=True)
        grants = _grants(made, admission, {worker.pk: worker.node for worker in workers})
    history.sample(made.limits, live.slots + len(admission.calls), made.now)
    done = F("succeeded") + F("dead") + F("cancelled")
    for batch in Batch.objects.filter(state__in=UNFINISHED_BATCH, total__lte=done):
        try:
            batch.finish()
        except Exception:
            # What was let through above must be sent all the same.
            log.exception("batch %s could not be finished", batch.public_id)
    return Pumped(grants, [worker.node for worker in workers], admission.retry_in)


def alive(now: datetime) -> list[Worker]:
    """Workers that hold a lease, whether or not they consume."""
    return list(Worker.objects.filter(fenced=False, lease_until__gt=now))


def _grants(made: Deciding, admission: governor.Admission, nodes: dict[int, str]) -> list[Grant]:
    by_worker: dict[int, list[int]] = defaultdict(list)
    for call in admission.calls:
        by_worker[call.worker] += [part.attempt for part in call.parts]
    grants = []
    for worker, attempts in by_worker.items():
        number = made.number()
        Attempt.objects.filter(pk__in=attempts).update(grant=number)
        grants.append(Grant(number, nodes[worker]))
    return grants
