"""Finds the comparison that was chosen, from the stored sums of batches that ended."""

from batchboard.arms import arms_of, past_arms
from batchboard.compare import compare
from batchboard.models import Experiment, TaskType
from batchboard.views.cost_choices import Choice
from batchboard.views.cost_shown import Shown, shown


def comparison_of(pk: int, choice: Choice) -> Shown:
    """Before and after of a task type, as the page shows them."""
    if choice.experiment:
        experiment = Experiment.objects.with_arms().get(public_id=choice.experiment)
        arms, pairing = arms_of(experiment)
        return shown(compare(arms, paired=pairing))
    task_type = TaskType.objects.get(pk=pk)
    sets = [(choice.before, choice.before_label), (choice.after, choice.after_label)]
    return shown(compare(past_arms(task_type, sets), paired=False))
