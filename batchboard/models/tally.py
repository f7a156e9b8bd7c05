"""What batches did and cost, summed up once each when its last item ended.

A hundred thousand items cannot be summed while somebody waits for a page. So the transaction that
finishes a batch stores the sums beside it, squares of costs included, from which intervals follow;
to send items again takes them away until it finishes anew. A batch that is under way has none, and
a comparison leaves it out: nobody knows yet how the costs of its items are spread.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import F, Q

from batchboard.batch_sums import BatchSums
from batchboard.models.decision import decision
from batchboard.models.tallying import measured
from batchboard.states import UNFINISHED_BATCH

if TYPE_CHECKING:
    from batchboard.models.batch import Batch

AT_ONCE = 20


class TallyManager(models.Manager["Tally"]):
    def sums_of(self, batches: Sequence["Batch"]) -> list[BatchSums]:
        """What each of the batches did and cost, in their order. Those without stored sums are
        summed up on the spot: arms of an experiment under way, and what was cancelled just now."""
        ids = [batch.pk for batch in batches]
        stored = dict(self.filter(pk__in=ids).values_list("pk", "sums"))
        fresh = [batch for batch in batches if batch.pk not in stored]
        found = dict(zip((batch.pk for batch in fresh), measured(fresh), strict=True))
        found |= {pk: BatchSums.of_json(sums) for pk, sums in stored.items()}
        return [found[pk] for pk in ids]

    def keep(self, batch: "Batch", sums: BatchSums) -> None:
        """Inside the transaction from which on they stay as they are."""
        self.update_or_create(pk=batch.pk, defaults={"sums": sums.as_json()})

    def catch_up(self) -> int:
        """Sum up what ended in another way than by finishing: cancelled batches, once the last of
        their calls ended. Returns how many."""
        from batchboard.models.batch import Batch

        done = F("succeeded") + F("dead") + F("cancelled")
        over = (
            Batch.objects.exclude(state__in=UNFINISHED_BATCH)
            .filter(Q(succeeded__gt=0) | Q(dead__gt=0), total=done, tally=None)
            .order_by("id")
        )
        count = 0
        while some := list(over[:AT_ONCE]):
            sums = measured(some)
            with decision():
                # One that was sent back to work meanwhile is summed up when it finishes.
                still = set(
                    over.filter(pk__in=[batch.pk for batch in some]).values_list("pk", "dead")
                )
                for batch, one in zip(some, sums, strict=True):
                    if (batch.pk, batch.dead) in still:
                        self.keep(batch, one)
            count += len(some)
        return count


class Tally(models.Model):
    """The sums of one batch whose items all ended, as `BatchSums.as_json` gives them."""

    batch = models.OneToOneField("Batch", models.CASCADE, primary_key=True, related_name="tally")
    sums = models.JSONField()

    objects = TallyManager()

    def __str__(self) -> str:
        return f"tally of {self.batch_id}"
