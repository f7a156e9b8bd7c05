"""Collects what ways of working did and cost, from what is stored, for comparison."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Q

from batchboard.batch_sums import BatchSums
from batchboard.compare import ArmData, Pairing
from batchboard.compare.data import Done
from batchboard.models import (
    Batch,
    Experiment,
    Mode,
    PairTally,
    ReviewState,
    SampledItem,
    Tally,
    TaskType,
    TaskVersion,
    Verdict,
)
from batchboard.models.batch import BatchQuerySet
from batchboard.models.run_options import group_size
from batchboard.models.tallying import tasks_of
from batchboard.states import UNFINISHED_BATCH
from dispatch.modes.cached import minimum_tokens


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


@dataclass(frozen=True)
class Way:
    """One side of a comparison before it is read: its batches that ended, and how many have not;
    without a `detail` the words of their modes are it."""

    label: str
    batches: Sequence[Batch]
    detail: str = ""
    under_way: int = 0


def arms_of(experiment: Experiment) -> tuple[list[ArmData], Pairing]:
    """What the arms of an experiment did and cost, the measure first, and the sums of their pairs,
    since they did the same items. Once all arms ended no item is read, and the number of queries
    is fixed."""
    ways = [Way(arm.label, [arm.batch]) for arm in experiment.arms.all()]
    pairing = PairTally.objects.stored(experiment)
    if pairing is None:
        pairing = Pairing.of([tasks_of(way.batches) for way in ways])
    return read_ways(ways), pairing


def past_arms(task_type: TaskType, wanted: Sequence[tuple[Past, str]]) -> list[ArmData]:
    """What past batches of a task type did and cost, in sums: quick for any number of items, and
    not to be paired. Without a label the words of a set are it. Batches that have not ended are
    told by their number, and not counted."""
    ways = []
    for past, label in wanted:
        batches = list(past.batches(task_type))
        over = [batch for batch in batches if batch.state not in UNFINISHED_BATCH]
        ways.append(Way(label or str(past), over, under_way=len(batches) - len(over)))
    return read_ways(ways)


def read_ways(ways: Sequence[Way]) -> list[ArmData]:
    """What each way did and cost, in sums: three queries where their batches have sums."""
    batches = {batch.pk: batch for way in ways for batch in way.batches}
    sums = dict(zip(batches, Tally.objects.sums_of(list(batches.values())), strict=True))
    judged = _reviewed(batches)
    versions = TaskVersion.objects.in_bulk({batch.version_id for batch in batches.values()})
    return [_arm(way, sums, judged, versions) for way in ways]


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


def _arm(
    way: Way,
    sums: Mapping[int, BatchSums],
    judged: Mapping[int, tuple[int, int]],
    versions: Mapping[int, TaskVersion],
) -> ArmData:
    modes = list(dict.fromkeys(batch.mode for batch in way.batches))
    whole = BatchSums.total([sums[batch.pk] for batch in way.batches])
    reviews = [judged.get(batch.pk, (0, 0)) for batch in way.batches]
    groups = {group_size(batch.mode, batch.group_size) for batch in way.batches}
    together = groups.pop() if len(groups) == 1 else 1
    return ArmData(
        label=way.label,
        mode=" and ".join(modes),
        detail=way.detail or "; ".join(str(Mode(mode).label) for mode in modes),
        seconds=whole.seconds_at_work,
        latency_median_ms=whole.latency(0.5),
        latency_p95_ms=whole.latency(0.95),
        judged=sum(count for count, _ in reviews),
        passed=sum(passed for _, passed in reviews),
        group=together if together > 1 else None,
        under_way=way.under_way,
        left=sum(one.total - one.ended for one in way.batches if one.state in UNFINISHED_BATCH),
        simulated=any(batch.simulated for batch in way.batches),
        **_shared(way.batches, versions),
        **{one.name: getattr(whole, one.name) for one in fields(Done)},
    )


def _reviewed(batches: Iterable[int]) -> dict[int, tuple[int, int]]:
    """How many results of each batch were judged, and how many of them passed; closed reviews are
    void."""
    found = (
        SampledItem.objects.filter(review__batch__in=list(batches))
        .exclude(review__state=ReviewState.CLOSED)
        .order_by()
        .values_list("review__batch")
        .annotate(
            judged=Count("id", filter=~Q(verdict="")),
            passed=Count("id", filter=Q(verdict=Verdict.PASS)),
        )
    )
    return {batch: (judged, passed) for batch, judged, passed in found}


def _shared(batches: Sequence[Batch], versions: Mapping[int, TaskVersion]) -> dict[str, Any]:
    """The model, and what there was to cache where it was the same for all."""
    ran = {batch.version_id: versions[batch.version_id] for batch in batches}
    found = sorted(ran.values(), key=lambda version: version.number)
    models = list(dict.fromkeys(version.model for version in found))
    shared = {version.shared_tokens for version in found if version.system}
    caches = all(batch.mode != Mode.SINGLE for batch in batches)
    if not caches or len(models) != 1 or len(shared) != 1:
        return {"model": " and ".join(models)}
    return {
        "model": models[0],
        "shared_tokens": shared.pop(),
        "minimum_tokens": minimum_tokens(models[0]),
    }


def _day(moment: datetime) -> str:
    return f"{moment:%b} {moment.day}, {moment.year}"
