"""What came back from trials: batches of one item that show on their task type alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from batchboard.models import Attempt, Batch
from batchboard.models.looking import Returned, last_returned


@dataclass(frozen=True)
class Trial:
    """A batch of one item, with its last attempt and what that brought, if there is any."""

    batch: Batch
    attempt: Attempt | None
    returned: Returned | None

    @property
    def over(self) -> bool:
        return self.batch.ended >= self.batch.total


def trials_of(batches: Sequence[Batch]) -> list[Trial]:
    """The trials in the order of their batches, read in two queries."""
    attempts = Attempt.objects.filter(batch__in=batches).select_related("item")
    last = {attempt.batch_id: attempt for attempt in attempts.order_by("id")}
    found = last_returned(attempt.pk for attempt in last.values())
    return [
        Trial(batch, last.get(batch.pk), found.get(last[batch.pk].pk) if batch.pk in last else None)
        for batch in batches
    ]
