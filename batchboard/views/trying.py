"""What came back from trials: batches of one item that show on their task type alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from batchboard.models import Answer, Attempt, Batch


@dataclass(frozen=True)
class Trial:
    """A batch of one item, with its last attempt and what that brought, if there is any."""

    batch: Batch
    attempt: Attempt | None
    answer: Answer | None

    @property
    def over(self) -> bool:
        return self.batch.ended >= self.batch.total


def trials_of(batches: Sequence[Batch]) -> list[Trial]:
    """The trials in the order of their batches, read in one query."""
    attempts = Attempt.objects.filter(batch__in=batches).select_related("item", "answer")
    last = {attempt.batch_id: attempt for attempt in attempts.order_by("id")}
    return [
        Trial(batch, last.get(batch.pk), getattr(last.get(batch.pk), "answer", None))
        for batch in batches
    ]
