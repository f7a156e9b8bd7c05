"""What is in flight, counted from the live attempts; there is no counter beside them."""

from collections import defaultdict
from dataclasses import dataclass, field

from batchboard import rows
from batchboard.models import Limits

COUNT = (
    "SELECT a.batch_id, a.worker_id, b.version_id, a.mode, b.cache_salt, SUM(a.slot),"
    " SUM(a.reserved), MIN(a.id)"
    " FROM batchboard_attempt a JOIN batchboard_batch b ON b.id = a.batch_id"
    " WHERE a.ended_at IS NULL AND a.submission_id IS NULL AND a.id >= %s"
    " GROUP BY a.batch_id, a.worker_id, b.version_id, a.mode, b.cache_salt"
)
SUBMITTED = (
    "SELECT batch_id, SUM(unsettled), SUM(reserved) FROM batchboard_submission"
    " WHERE ended_at IS NULL GROUP BY batch_id"
)


@dataclass(slots=True)
class Live:
    """Slots in use and money held (units): in all, by batch, by worker, and by what shares
    a cache: version, mode and salt. Requests that are `submitted` to the provider in message
    batches take no slot, but hold money."""

    slots: int = 0
    reserved: int = 0
    by_batch: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    by_worker: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    by_work: dict[tuple[int, str, str], int] = field(default_factory=lambda: defaultdict(int))
    reserved_by_batch: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    submitted: dict[int, int] = field(default_factory=lambda: defaultdict(int))


def count_live(limits: Limits) -> Live:
    """Count, from the oldest live attempt on: `limits.oldest_live`, which this moves forward, so
    that the index of live attempts is not walked over what ended long ago."""
    live = Live()
    oldest = None
    for batch, worker, version, mode, salt, slot_sum, reserved_sum, first in rows.execute(
        COUNT, [limits.oldest_live]
    ):
        # PostgreSQL sums whole numbers as decimals.
        slots, reserved = int(slot_sum), int(reserved_sum)
        live.slots += slots
        live.reserved += reserved
        live.by_batch[batch] += slots
        live.by_worker[worker] += slots
        live.by_work[version, mode, salt] += slots
        live.reserved_by_batch[batch] += reserved
        oldest = first if oldest is None else min(oldest, first)
    for batch, requests, held in rows.execute(SUBMITTED):
        live.submitted[batch] = int(requests)
        live.reserved += int(held)
        live.reserved_by_batch[batch] += int(held)
    if oldest is not None:
        limits.oldest_live = oldest
    return live
