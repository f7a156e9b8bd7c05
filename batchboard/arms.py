"""Collects what ways of working did and cost, from what is stored, for comparison."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Q, Sum

from batchboard import rows
from batchboard.batch_sums import BatchSums
from batchboard.compare import ArmData, TaskCost
from batchboard.compare.data import Done
from batchboard.models import (
    Batch,
    Experiment,
    Mode,
    ReviewState,
    SampledItem,
    Tally,
    TaskType,
    TaskVersion,
    Verdict,
)
from batchboard.models.batch import BatchQuerySet
from batchboard.models.run_options import group_size
from batchboard.models.tallying import counted
from batchboard.money import units
from batchboard.states import UNFINISHED_BATCH, ItemState
from dispatch.modes.cached import minimum_tokens

ITEMS = (
    "SELECT batch_id, id, key, cost, state FROM batchboard_item"
    " WHERE batch_id IN ({}) AND state IN (%s, %s)"
)


@dataclass(frozen=True)
class Past:
    """Which batches of a task type: of a mode, a version, started from `since` to before `until`
    (aware). A batch has one mode and one version, and an item is never split between two sets:
    all that it cost counts with the batch. Arms of experiments are not among them: they are held
    against each other."""

    mode: str | None = None
    version: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    trials: bool = False

    def batches(self, task_type: TaskType) -> BatchQuerySet:
        """Those of them of which an item ended."""
        wanted = {
            "mode": self.mode,
            "version__number": self.version,
            "started_at__gte": self.since,
            "started_at__lt": self.until,
            "trial": None if self.trials else False,
            "experimental": False,
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        return _with_ended_items(task_type).filter(**given).order_by("id")

    def __str__(self) -> str:
        parts = [
            self.mode or "",
            f"version {self.version}" if self.version is not None else "",
            f"since {_day(self.since)}" if self.since else "",
            f"until {_day(self.until)}" if self.until else "",
        ]
        return ", ".join(part for part in parts if part) or "all"


def arm_of(batches: Sequence[Batch], label: str, detail: str = "") -> ArmData:
    """What the items of `batches` that have a result or are dead did and cost, item by item;
    without a `detail` the words of their mode are it.

    In arms of one batch each, keys are those of the items, so that they can be paired. A fixed
    number of queries, however many batches and items.
    """
    return replace(_arm(batches, label, detail), tasks=_tasks(batches))


def arms_of(experiment: Experiment) -> list[ArmData]:
    """What the arms of an experiment did and cost, the measure first; to be paired, since they did
    the same items."""
    return [arm_of([arm.batch], arm.label) for arm in experiment.arms.all()]


def past_arm(task_type: TaskType, past: Past, label: str = "") -> ArmData:
    """What past batches of a task type did and cost, in sums: quick for any number of items, and
    not to be paired. Without a label the words of `past` are it. Those that have not ended are
    told by their number, and not counted."""
    batches = list(past.batches(task_type))
    over = [batch for batch in batches if batch.state not in UNFINISHED_BATCH]
    arm = _arm(over, label or str(past), "")
    return replace(arm, under_way=len(batches) - len(over))


def modes_that_ran(task_type: TaskType) -> list[str]:
    """The modes in which batches of a task type ended, the one that ran last first."""
    last = (
        _with_ended_items(task_type)
        .exclude(state__in=UNFINISHED_BATCH)
        .filter(trial=False, experimental=False)
        .order_by()
        .values("mode")
    )
    return [row["mode"] for row in last.annotate(at=Max("started_at")).order_by("-at")]


def _with_ended_items(task_type: TaskType) -> BatchQuerySet:
    return Batch.objects.arrived().filter(
        Q(succeeded__gt=0) | Q(dead__gt=0), version__task_type=task_type
    )


def _arm(batches: Sequence[Batch], label: str, detail: str) -> ArmData:
    modes = list(dict.fromkeys(batch.mode for batch in batches))
    whole = BatchSums.total(Tally.objects.sums_of(batches))
    judged, passed = _reviewed(batches)
    groups = {group_size(batch.mode, batch.group_size) for batch in batches}
    together = groups.pop() if len(groups) == 1 else 1
    return ArmData(
        label=label,
        mode=" and ".join(modes),
        detail=detail or "; ".join(str(Mode(mode).label) for mode in modes),
        seconds=whole.seconds_at_work,
        latency_median_ms=whole.latency(0.5),
        latency_p95_ms=whole.latency(0.95),
        judged=judged,
        passed=passed,
        group=together if together > 1 else None,
        **_versions(batches),
        **{one.name: getattr(whole, one.name) for one in fields(Done)},
    )


def _tasks(batches: Sequence[Batch]) -> list[TaskCost]:
    """Plain rows: there may be very many."""
    if not batches:
        return []
    ids = [batch.pk for batch in batches]
    sql = ITEMS.format(", ".join(["%s"] * len(ids)))
    found = rows.execute(sql, [*ids, str(ItemState.SUCCEEDED), str(ItemState.DEAD)])
    bounds = _bounds(batches)
    return [
        TaskCost(
            key if len(ids) == 1 else f"{batch} {key}",
            cost + bounds.get(item, 0),
            state == ItemState.SUCCEEDED,
            bounds.get(item, 0),
        )
        for batch, item, key, cost, state in found
    ]


def _bounds(batches: Sequence[Batch]) -> dict[int, int]:
    """Units by item: the bound of what its attempts of unknown cost did cost."""
    some = [batch for batch in batches if batch.unknown_cost]
    bounds = counted(some).filter(cost=None).values("item").annotate(bound=Sum("reserved"))
    return {row["item"]: units(row["bound"]) for row in bounds}


def _reviewed(batches: Sequence[Batch]) -> tuple[int, int]:
    """How many results were judged, and how many of them passed; closed reviews are void."""
    found = (
        SampledItem.objects.filter(review__batch__in=_ids(batches))
        .exclude(review__state=ReviewState.CLOSED)
        .aggregate(
            judged=Count("id", filter=~Q(verdict="")),
            passed=Count("id", filter=Q(verdict=Verdict.PASS)),
        )
    )
    return found["judged"] or 0, found["passed"] or 0


def _versions(batches: Sequence[Batch]) -> dict[str, Any]:
    """The model, and what there was to cache where it was the same for all."""
    versions = TaskVersion.objects.filter(pk__in={batch.version_id for batch in batches})
    found = list(versions.order_by("number").values("model", "system", "shared_tokens"))
    models = list(dict.fromkeys(version["model"] for version in found))
    shared = {version["shared_tokens"] for version in found if version["system"]}
    caches = all(batch.mode != Mode.SINGLE for batch in batches)
    if not caches or len(models) != 1 or len(shared) != 1:
        return {"model": " and ".join(models)}
    return {
        "model": models[0],
        "shared_tokens": shared.pop(),
        "minimum_tokens": minimum_tokens(models[0]),
    }


def _ids(batches: Iterable[Batch]) -> list[int]:
    return [batch.pk for batch in batches]


def _day(moment: datetime) -> str:
    return f"{moment:%b} {moment.day}, {moment.year}"
