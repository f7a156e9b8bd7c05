"""Finds the comparison that was chosen, from the stored sums of batches that ended."""

from batchboard.arms import arms_of, past_arm
from batchboard.compare import compare
from batchboard.models import Experiment, TaskType
from batchboard.views.cost_choices import Choice
from batchboard.views.cost_shown import Shown, shown


def comparison_of(pk: int, choice: Choice) -> Shown:
    """Before and after of a task type, as the page shows them."""
    if choice.experiment:
        experiment = Experiment.objects.with_arms().get(public_id=choice.experiment)
        return shown(compare(arms_of(experiment), paired=True))
    task_type = TaskType.objects.get(pk=pk)
    before = past_arm(task_type, choice.before, choice.before_label)
    after = past_arm(task_type, choice.after, choice.after_label)
    return shown(compare([before, after], paired=False))
