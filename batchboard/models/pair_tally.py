"""What the arms of an experiment did at the same items, summed up once when the last arm ended.

To hold two ways of working against each other item by item takes every item of both. So once all
arms of an experiment have their sums, those of their pairs are stored beside it; to send items of
an arm again takes them away until it ended anew.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import models

from batchboard.compare.pairing import Pairing
from batchboard.models.decision import decision
from batchboard.models.tallying import tasks_of

if TYPE_CHECKING:
    from batchboard.models.batch import Batch
    from batchboard.models.experiment import Experiment


class PairTallyManager(models.Manager["PairTally"]):
    def stored(self, experiment: "Experiment") -> Pairing | None:
        """The sums of all pairs of its arms, or None where an arm has items left to do."""
        found = self.filter(pk=experiment.pk).values_list("sums", flat=True).first()
        return None if found is None else Pairing.of_json(found)

    def catch_up(self) -> int:
        """Sum up the experiments of which every arm ended; returns how many."""
        from batchboard.models.experiment import Experiment

        over = Experiment.objects.filter(pairs=None).exclude(arms__batch__tally=None)
        count = 0
        for experiment in over.order_by("pk"):
            seen = _progress(experiment.batches)
            sums = Pairing.of([tasks_of([batch]) for batch in experiment.batches])
            with decision():
                # One that was sent back to work meanwhile is summed up when it ended anew.
                again = over.filter(pk=experiment.pk).first()
                if again is not None and _progress(again.batches) == seen:
                    self.create(experiment=experiment, sums=sums.as_json())
                    count += 1
        return count


class PairTally(models.Model):
    """The sums of an experiment whose arms all ended, as `Pairing.as_json` gives them."""

    experiment = models.OneToOneField(
        "Experiment", models.CASCADE, primary_key=True, related_name="pairs"
    )
    sums = models.JSONField()

    objects = PairTallyManager()

    def __str__(self) -> str:
        return f"pairs of {self.experiment_id}"


def _progress(batches: "Sequence[Batch]") -> list[Any]:
    return [batch._progress for batch in batches]
