"""Collects what ways of working did and cost, from what is stored, for comparison."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Case, Count, Max, Q, Sum, When

from batchboard import rows
from batchboard.compare import ArmData, TaskCost
from batchboard.models import (
    Attempt,
    Batch,
    Experiment,
    Mode,
    Price,
    ReviewState,
    SampledItem,
    TaskType,
    TaskVersion,
    Verdict,
)
from batchboard.models.batch import BatchQuerySet
from batchboard.money import ZERO, share_out, units
from batchboard.pricing import Usage
from batchboard.states import ItemState
from dispatch.modes.cached import minimum_tokens
from dispatch.outcome import Outcome

KINDS = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read")
ITEMS = (
    "SELECT batch_id, id, key, cost, state, latency_ms FROM batchboard_item"
    " WHERE batch_id IN ({}) AND state IN (%s, %s)"
)
AT_WORK = (
    "SELECT MIN(started_at), MAX(ended_at) FROM batchboard_attempt"
    " WHERE batch_id IN ({}) AND ended_at IS NOT NULL AND started_at IS NOT NULL GROUP BY {}"
)
STRETCH = {
    "sqlite": "substr(started_at, 1, 18)",
    "postgresql": "floor(extract(epoch FROM started_at) / 10)",
}
"""Ten seconds, within which calls count as following each other without a gap."""


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
    """What the items of `batches` that have a result or are dead did and cost; without a `detail`
    the words of their mode are it.

    In arms of one batch each, keys are those of the items, so that they can be paired. A fixed
    number of queries, however many batches and items.
    """
    modes = list(dict.fromkeys(batch.mode for batch in batches))
    arm = ArmData(
        label=label,
        mode=" and ".join(modes),
        detail=detail or "; ".join(str(Mode(mode).label) for mode in modes),
        tasks=(),
    )
    if not batches:
        return arm
    unknown = _unknown(batches)
    found = _items(batches)
    tasks = [
        TaskCost(
            key if len(batches) == 1 else f"{batch} {key}",
            cost + unknown.get(item, 0),
            state == ItemState.SUCCEEDED,
            unknown.get(item, 0),
        )
        for batch, item, key, cost, state, _ in found
    ]
    latencies = sorted(row[5] for row in found if row[4] == ItemState.SUCCEEDED and row[5])
    judged, passed = _reviewed(batches)
    arm = replace(
        arm,
        tasks=tasks,
        seconds=_seconds_at_work(batches),
        latency_median_ms=_at(latencies, 0.5),
        latency_p95_ms=_at(latencies, 0.95),
        judged=judged,
        passed=passed,
        **_versions(batches),
        **_attempts(batches),
    )
    together = round(arm.attempts / arm.calls) if arm.calls else 1
    return replace(arm, group=together if together > 1 else None)


def arms_of(experiment: Experiment) -> list[ArmData]:
    """What the arms of an experiment did and cost, the measure first; to be paired, since they did
    the same items."""
    return [arm_of([arm.batch], arm.label) for arm in experiment.arms.all()]


def past_arm(task_type: TaskType, past: Past, label: str = "") -> ArmData:
    """What past batches of a task type did and cost; not to be paired. Without a label the words
    of `past` are it."""
    return arm_of(list(past.batches(task_type)), label or str(past))


def modes_that_ran(task_type: TaskType) -> list[str]:
    """The modes in which items of a task type ended, the one that ran last first."""
    last = (
        _with_ended_items(task_type)
        .filter(trial=False, experimental=False)
        .order_by()
        .values("mode")
    )
    return [row["mode"] for row in last.annotate(at=Max("started_at")).order_by("-at")]


def _with_ended_items(task_type: TaskType) -> BatchQuerySet:
    return Batch.objects.arrived().filter(
        Q(succeeded__gt=0) | Q(dead__gt=0), version__task_type=task_type
    )


def _items(batches: Sequence[Batch]) -> list[tuple[Any, ...]]:
    """Batch, id, key, known cost in units, state and latency of each item that counts. Plain rows:
    there may be a hundred thousand."""
    ids = [batch.pk for batch in batches]
    sql = ITEMS.format(_places(ids))
    return rows.execute(sql, [*ids, str(ItemState.SUCCEEDED), str(ItemState.DEAD)])


def _counted(batches: Sequence[Batch]) -> Any:
    """Ended attempts of those items."""
    attempts = Attempt.objects.ended().filter(batch__in=[batch.pk for batch in batches])
    if all(batch.succeeded + batch.dead == batch.total for batch in batches):
        return attempts.order_by()
    return attempts.filter(item__state__in=(ItemState.SUCCEEDED, ItemState.DEAD)).order_by()


def _attempts(batches: Sequence[Batch]) -> dict[str, Any]:
    """Sums over the attempts: tokens and money by kind, and how they ended."""
    unknown = Q(cost=None)
    # What was answered and yet has no cost, or had nothing reserved for it, had no price at all.
    unpriced = unknown & (Q(input_tokens__isnull=False) | Q(reserved=0))
    groups: Any = (
        _counted(batches)
        .values("price", well=Case(When(outcome=Outcome.OK, then=1), default=0))
        .annotate(
            count=Count("id"),
            calls=Sum("slot"),
            lost=Count("id", filter=Q(outcome=Outcome.LOST)),
            spent=Sum("cost"),
            unknown=Count("id", filter=unknown),
            bound=Sum("reserved", filter=unknown),
            unpriced=Count("id", filter=unpriced),
            **{kind: Sum(f"{kind}_tokens") for kind in KINDS},
        )
    )
    found = list(groups)
    prices = Price.objects.in_bulk([group["price"] for group in found if group["price"]])
    usage, money = [0] * 5, [0] * 5
    failed_usage, failed_money = [0] * 5, [0] * 5
    for group in found:
        tokens = [group[kind] or 0 for kind in KINDS]
        price = prices.get(group["price"])
        spent = _by_kind(units(group["spent"] or ZERO), tokens, price.rates if price else {})
        _add(usage, tokens)
        _add(money, spent)
        if not group["well"]:
            _add(failed_usage, tokens)
            _add(failed_money, spent)
    return {
        "usage": Usage(*usage),
        "money": Usage(*money),
        "failed_usage": Usage(*failed_usage),
        "failed_money": Usage(*failed_money),
        "unknown": sum(units(group["bound"] or ZERO) for group in found),
        "unknown_attempts": sum(group["unknown"] for group in found),
        "unpriced": sum(group["unpriced"] for group in found),
        "calls": sum(group["calls"] for group in found),
        "attempts": sum(group["count"] for group in found),
        "failed_attempts": sum(group["count"] for group in found if not group["well"]),
        "lost": sum(group["lost"] for group in found),
    }


def _by_kind(spent: int, tokens: list[int], rates: dict[str, int]) -> list[int]:
    """What was spent, by kind of token. The rates give the proportions and the sum is kept: a long
    prompt may have been charged at other rates."""
    weights = [count * (rates.get(kind) or 0) for count, kind in zip(tokens, KINDS, strict=True)]
    if not any(weights):
        weights = tokens
    return share_out(spent, weights) if any(weights) else [spent, 0, 0, 0, 0]


def _unknown(batches: Sequence[Batch]) -> dict[int, int]:
    """Units by item: the bound of what its attempts of unknown cost did cost."""
    some = [batch for batch in batches if batch.unknown_cost]
    bounds = _counted(some).filter(cost=None).values("item").annotate(bound=Sum("reserved"))
    return {row["item"]: units(row["bound"]) for row in bounds}


def _reviewed(batches: Sequence[Batch]) -> tuple[int, int]:
    """How many results were judged, and how many of them passed; closed reviews are void."""
    found = (
        SampledItem.objects.filter(review__batch__in=[batch.pk for batch in batches])
        .exclude(review__state=ReviewState.CLOSED)
        .aggregate(
            judged=Count("id", filter=~Q(verdict="")),
            passed=Count("id", filter=Q(verdict=Verdict.PASS)),
        )
    )
    return found["judged"], found["passed"]


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


def _seconds_at_work(batches: Sequence[Batch]) -> float:
    """Wall time in which at least one call was in flight, give or take ten seconds a pause."""
    ids = [batch.pk for batch in batches]
    found = rows.execute(AT_WORK.format(_places(ids), STRETCH[connection.vendor]), ids)
    stretches = sorted(
        (start, end)
        for start, end in ((rows.moment(a), rows.moment(b)) for a, b in found)
        if start and end
    )
    busy, until = timedelta(), None
    for start, end in stretches:
        begin = start if until is None else max(start, until)
        if end > begin:
            busy += end - begin
            until = end
    return busy.total_seconds()


def _places(values: Sequence[Any]) -> str:
    return ", ".join(["%s"] * len(values))


def _add(sums: list[int], values: Sequence[int]) -> None:
    for index, value in enumerate(values):
        sums[index] += value


def _at(ordered: Sequence[int], share: float) -> int | None:
    """The value below which a share of them lies."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def _day(moment: datetime) -> str:
    return f"{moment:%b} {moment.day}, {moment.year}"
