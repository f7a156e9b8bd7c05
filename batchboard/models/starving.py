"""Which new limits would starve work that is under way, told before they are saved."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Max, Sum

from batchboard import estimate
from batchboard.models.batch import Batch
from batchboard.models.item import Item
from batchboard.models.limit_settings import RATES
from batchboard.models.limits import Limits, ModelLimit
from batchboard.models.measured import Measured
from batchboard.models.run_options import Mode, group_size
from batchboard.models.task_type import TaskVersion

DAY_SECONDS = 86_400
NAMES = {"rpm": "requests", "itpm": "input tokens", "otpm": "output tokens"}
Changes = Mapping[str, Mapping[str, Any]]
"""New values by model, and by setting; those for every model stand under ""."""


@dataclass(frozen=True)
class Load:
    """What batches under way still have to send of one task type version in one mode, by what its
    calls measured so far; and where there were none, by the length of an item."""

    task_type: str
    model: str
    items: int
    needs: Mapping[str, float]
    """Of each limit per minute, for one item."""

    latency: float
    """Seconds of a slot for one item."""


def starves(limits: Limits, changes: Changes) -> dict[tuple[str, str], str]:
    """Why these values would leave the batches under way over a day of work, or one item more than
    a minute's worth, by model ("" for every model) and setting. A value that is no lower than the
    one in force is no reason."""
    loads = _loads()
    asked = copy(limits)
    for name, value in changes.get("", {}).items():
        setattr(asked, name, value)
    rows = {row.model: row for row in ModelLimit.objects.all()}
    found: dict[tuple[str, str], str] = {}
    if asked.cap < limits.cap:
        found[("", "concurrency")] = _by_cap(loads, asked.cap)
    for model in sorted({load.model for load in loads}):
        here = [load for load in loads if load.model == model]
        before = rows.get(model) or ModelLimit(model=model)
        after = copy(before)
        for name, value in changes.get(model, {}).items():
            setattr(after, name, value)
        for rate in RATES:
            allowed = _usable(after, rate, asked)
            if allowed < _usable(before, rate, limits):
                where = _blamed(rate, before, after, limits, asked)
                found[where] = found.get(where) or _by_rate(here, rate, allowed)
    return {where: why for where, why in found.items() if why}


def _loads() -> list[Load]:
    left = F("total") - F("succeeded") - F("dead") - F("cancelled")
    piles = (
        Batch.objects.unfinished()
        .order_by()
        .values_list("version", "mode")
        .annotate(left=Sum(left), group=Max("group_size"))
    )
    versions = TaskVersion.objects.select_related("task_type").in_bulk([one[0] for one in piles])
    return [
        _load(versions[version], mode, items, group)
        for version, mode, items, group in piles
        if items
    ]


def _load(version: TaskVersion, mode: str, items: int, group: int | None) -> Load:
    seen = Measured.objects.filter(version=version, mode=mode).first() or Measured()
    per_byte = seen.input_tokens / seen.bytes if seen.bytes else estimate.TOKENS_PER_BYTE
    item = Item.objects.filter(batch__version=version).first()
    # What is read from the cache counts against no limit; without one, each call sends it anew.
    shared = version.shared_bytes if mode == Mode.SINGLE else 0
    given = per_byte * ((item.prompt_bytes if item else 0) + shared)
    if seen.items:
        calls, answered = seen.calls / seen.items, seen.output_tokens / seen.items
        latency = seen.latency_ms / seen.items / 1000
    else:
        calls = 1 / group_size(mode, group) if mode == Mode.PACKED else 1.0
        answered = version.max_tokens * estimate.OUTPUT_SHARE
        latency = estimate.FIRST_TOKEN_SECONDS + answered / estimate.TOKENS_PER_SECOND
    needs = {"rpm": calls, "itpm": given, "otpm": answered}
    return Load(version.task_type.name, version.model, items, needs, latency)


def _usable(row: ModelLimit, rate: str, limits: Limits) -> float:
    return row.allowed(rate, limits) * float(limits.configured("headroom"))


def _blamed(
    rate: str, before: ModelLimit, after: ModelLimit, limits: Limits, asked: Limits
) -> tuple[str, str]:
    """The change that lowered what may be used of this limit."""
    if getattr(after, rate) != getattr(before, rate):
        return after.model, rate
    if asked.configured(rate) != limits.configured(rate) and getattr(after, rate) is None:
        return "", rate
    return "", "headroom"


def _by_cap(loads: list[Load], cap: int) -> str:
    seconds = sum(load.items * load.latency for load in loads) / cap
    return _too_long(sum(load.items for load in loads), "under way", seconds)


def _by_rate(loads: list[Load], rate: str, allowed: float) -> str:
    for load in loads:
        need = load.needs[rate]
        if need > allowed:
            return (
                f"One item of {load.task_type} needs about {need:,.0f} {NAMES[rate]}, and only"
                f" {allowed:,.0f} a minute could be used: each would wait over a minute."
            )
    seconds = sum(load.items * load.needs[rate] for load in loads) / allowed * 60
    return _too_long(sum(load.items for load in loads), f"on {loads[0].model}", seconds)


def _too_long(items: int, where: str, seconds: float) -> str:
    if seconds <= DAY_SECONDS:
        return ""
    days = seconds / DAY_SECONDS
    long = f"about {days:,.0f} days" if days >= 1.5 else "over a day"
    return f"The {items:,} item{'' if items == 1 else 's'} {where} would need {long}."
