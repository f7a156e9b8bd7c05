"""Collects what ways of working did and cost, from what is stored, for comparison."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from batchboard.compare import ArmData
from batchboard.models import Batch, TaskType
from batchboard.models.batch import BatchQuerySet


@dataclass(frozen=True)
class Past:
    """Which batches of a task type: of a mode, a version, started from `since` to before `until`
    (aware). A batch has one mode and one version, and an item is never split between two sets:
    all that it cost counts with the batch."""

    mode: str | None = None
    version: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    trials: bool = False

    def batches(self, task_type: TaskType) -> BatchQuerySet:
        """Those of them of which an item ended."""
        raise NotImplementedError


def arm_of(batches: Sequence[Batch], label: str, detail: str = "") -> ArmData:
    """What the items of `batches` that ended did and cost. Keys are those of the items, so arms of
    one batch each over the same items can be paired. A fixed number of queries."""
    raise NotImplementedError


def past_arm(task_type: TaskType, past: Past, label: str = "") -> ArmData:
    """What past batches of a task type did and cost; not to be paired. Without a label the words
    of `past` are it."""
    raise NotImplementedError


def modes_that_ran(task_type: TaskType) -> list[str]:
    """The modes in which items of a task type ended, the one that ran last first."""
    raise NotImplementedError
