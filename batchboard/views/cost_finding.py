"""Finds the comparison that was chosen.

What has ended stays as it was, so a process keeps a result until something of the task type
changed, and reads no item of it again. A batch that runs changes it all the time: its new figures
are taken in every so many seconds.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max, Q, Sum

from batchboard.arms import arms_of, past_arm
from batchboard.compare import compare
from batchboard.models import Batch, Experiment, SampledItem, TaskType, Verdict
from batchboard.models.batch import BatchQuerySet
from batchboard.states import UNFINISHED_BATCH
from batchboard.views.cost_choices import Choice
from batchboard.views.cost_shown import Shown, shown

KEPT_SECONDS = 3_600
RUNNING_FRESH = timedelta(seconds=30)


@dataclass(frozen=True)
class Kept:
    """A result, and what it came from: of batches that ended, and of those under way."""

    at: datetime
    ended: tuple[Any, ...]
    running: tuple[Any, ...]
    shown: Shown

    def holds(self, ended: tuple[Any, ...], running: tuple[Any, ...], now: datetime) -> bool:
        if self.ended != ended:
            return False
        return self.running == running or now - self.at < RUNNING_FRESH


def comparison_of(task_type: int, choice: Choice, now: datetime) -> Shown:
    """Before and after, as the page shows them."""
    key = f"costs-{task_type}-{choice.value}"
    ended, running = _state(_batches_of(task_type, choice))
    kept: Kept | None = cache.get(key)
    if kept is None or not kept.holds(ended, running, now):
        kept = Kept(now, ended, running, _compared(task_type, choice))
        cache.set(key, kept, KEPT_SECONDS)
    return kept.shown


def _compared(pk: int, choice: Choice) -> Shown:
    if choice.experiment:
        experiment = Experiment.objects.with_arms().get(public_id=choice.experiment)
        return shown(compare(arms_of(experiment), paired=True))
    task_type = TaskType.objects.get(pk=pk)
    arms = [
        past_arm(task_type, choice.before, choice.before_label),
        past_arm(task_type, choice.after, choice.after_label),
    ]
    return shown(compare(arms, paired=False))


def _batches_of(task_type: int, choice: Choice) -> BatchQuerySet:
    """The batches that the comparison could be made from."""
    if choice.experiment:
        return Batch.objects.filter(arm__experiment__public_id=choice.experiment)
    return Batch.objects.on_board().filter(version__task_type=task_type)


def _state(batches: BatchQuerySet) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """All that a comparison of these batches could depend on: it is another one as soon as an
    attempt ended, an item was sent again or judged, or a batch was added."""
    batches = batches.order_by()
    sums = {
        "id": Count("id"), "last": Max("started_at"), "spent": Sum("cost"),
        "bound": Sum("unknown_cost"), "good": Sum("succeeded"), "bad": Sum("dead"),
        "off": Sum("cancelled"), "tokens": Sum("input_tokens"),
    }  # fmt: skip
    judged = SampledItem.objects.filter(review__batch__in=batches).aggregate(
        passed=Count("id", filter=Q(verdict=Verdict.PASS)),
        failed=Count("id", filter=Q(verdict=Verdict.FAIL)),
    )
    ended = batches.exclude(state__in=UNFINISHED_BATCH).aggregate(**sums)
    running = batches.filter(state__in=UNFINISHED_BATCH).aggregate(**sums)
    return (*ended.values(), *judged.values()), (running["id"], *running.values())
