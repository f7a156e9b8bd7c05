"""What came back from trials: batches of one item that show on their task type alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from batchboard import rows
from batchboard.models import Attempt, Batch
from batchboard.models.looking import Returned, last_returned
from batchboard.views.reasons import Reason, reason
from batchboard.views.workers import workers_lately


@dataclass(frozen=True)
class Trial:
    """A batch of one item, with its last attempt and what that brought, if there is any. `reason`
    is what it waits for, where no call of it is in flight."""

    batch: Batch
    attempt: Attempt | None
    returned: Returned | None
    reason: Reason | None

    @property
    def over(self) -> bool:
        return self.batch.ended >= self.batch.total


def trials_of(batches: Sequence[Batch]) -> list[Trial]:
    """The trials in the order of their batches, read in three queries."""
    now = rows.now()
    workers = len(workers_lately(now).alive)
    attempts = Attempt.objects.filter(batch__in=batches).select_related("item")
    last = {attempt.batch_id: attempt for attempt in attempts.order_by("id")}
    found = last_returned(attempt.pk for attempt in last.values())
    made = []
    for batch in batches:
        attempt = last.get(batch.pk)
        is_in_flight = attempt is not None and attempt.ended_at is None
        made.append(
            Trial(
                batch,
                attempt,
                found.get(attempt.pk) if attempt else None,
                None if is_in_flight else reason(batch, now=now, workers=workers),
            )
        )
    return made
