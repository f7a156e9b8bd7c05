"""Finds the comparison that was chosen.

What batches that ended cost is remembered, so this is quick; a batch that runs is counted anew, so
while one does, a result stands for a while.
"""

from datetime import datetime, timedelta

from django.core.cache import cache

from batchboard.arms import past_arm
from batchboard.compare import compare
from batchboard.models import Batch, TaskType
from batchboard.views.cost_choices import Choice
from batchboard.views.cost_shown import Shown, shown

STANDS = timedelta(seconds=30)


def comparison_of(task_type: int, choice: Choice, now: datetime) -> Shown:
    """Before and after, as the page shows them."""
    if not Batch.objects.unfinished().filter(version__task_type=task_type, trial=False).exists():
        return _compared(task_type, choice)
    key = f"costs-{task_type}-{choice.value}"
    kept: tuple[datetime, Shown] | None = cache.get(key)
    if kept is None or now - kept[0] >= STANDS:
        kept = now, _compared(task_type, choice)
        cache.set(key, kept)
    return kept[1]


def _compared(pk: int, choice: Choice) -> Shown:
    task_type = TaskType.objects.get(pk=pk)
    before = past_arm(task_type, choice.before, choice.before_label)
    after = past_arm(task_type, choice.after, choice.after_label)
    return shown(compare([before, after], paired=False))
