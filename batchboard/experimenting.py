"""From items and ways of working to an experiment with its estimate: all or nothing."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import Any

from django.utils import timezone

from batchboard import intake
from batchboard.arm_text import MOST_ARMS, ArmPlan, labels_of
from batchboard.drawing import draw
from batchboard.estimate import Estimate
from batchboard.models import (
    Batch,
    Experiment,
    Limits,
    NewArm,
    NewItem,
    RunOptions,
    TaskVersion,
)
from batchboard.models.copying import copies
from batchboard.models.prices import is_priced
from batchboard.money import ZERO
from batchboard.task_definition import TaskDefinition
from dispatch import forecast

USUAL_ITEMS = 50
MOST_ITEMS = 5_000
"""Of each arm. Where so many do not tell two ways apart, there is nothing to gain from either."""

KEYS_AT_ONCE = 500


class PlanError(ValueError):
    """An experiment that cannot be; str() is a whole sentence."""


@dataclass(frozen=True)
class Foreseen:
    """What the arms will cost and take, in their order. All run at the same time."""

    arms: Sequence[Estimate]

    @property
    def expected(self) -> Decimal:
        return sum((arm.expected or ZERO for arm in self.arms), ZERO)

    @property
    def worst(self) -> Decimal:
        return sum((arm.worst or ZERO for arm in self.arms), ZERO)

    @property
    def seconds(self) -> float:
        """Until the last arm ends: of arms that wait for the same limit of the provider's each
        takes its own from it."""
        by_limit: Counter[str] = Counter()
        for arm in self.arms:
            if arm.binding_limit in {"rpm", "itpm", "otpm"}:
                by_limit[arm.binding_limit] += arm.seconds  # type: ignore[assignment]
        return max([*(arm.seconds for arm in self.arms), *by_limit.values()], default=0.0)


def draw_rows(items: intake.Items, n: int | None, seed: str) -> list[NewItem]:
    """`n` rows of a file, drawn at random by the seed; the usual number, or all there are, where
    none is asked for. Raises IngestError where a row cannot be used, PlanError for too few."""
    found = draw(seed, items.rows(), n or USUAL_ITEMS, lambda item: item.key)
    return _checked(found, n, f"{items.name} has")


def draw_items(batch: Batch, definition: TaskDefinition, n: int | None, seed: str) -> list[NewItem]:
    """`n` items of an earlier batch, as `definition` would send them. Raises PlanError, and
    MoveRefused where they lack what its prompt names."""
    keys = batch.items.order_by().values_list("key", flat=True).iterator()
    drawn = draw(seed, keys, n or USUAL_ITEMS)
    found: dict[str, NewItem] = {}
    for start in range(0, len(drawn), KEYS_AT_ONCE):
        chosen = batch.items.filter(key__in=drawn[start : start + KEYS_AT_ONCE])
        found |= {item.key: item for item in copies(chosen, definition.prompt)}
    return _checked([found[key] for key in drawn], n, f"{batch.name} has")


def no_price(model: str) -> PlanError:
    """To be raised, or shown, where a model has no known price."""
    return PlanError(f"No price of {model} is known, so what it costs cannot be compared.")


def check_arms(arms: Sequence[ArmPlan]) -> None:
    """Raises PlanError where there are too few arms, or too many."""
    if len(arms) < 2:
        raise PlanError("An experiment needs two arms at least: the first is the measure.")
    if len(arms) > MOST_ARMS:
        raise PlanError(f"An experiment has at most {MOST_ARMS} arms, not {len(arms)}.")


def options_of(arm: ArmPlan, sample_size: int | None = None) -> RunOptions:
    """How the batch of an arm is to run."""
    return RunOptions(
        mode=arm.mode,
        group_size=arm.group_size,
        concurrency=arm.concurrency,
        sample_size=sample_size,
    )


def foresee(
    definition: TaskDefinition,
    sizes: Counter[int],
    arms: Sequence[ArmPlan],
    counted: forecast.Counted,
    version: TaskVersion | None,
) -> Foreseen:
    """What items of `sizes` will cost and take in each arm, with an even share of the cap."""
    share = max(1, Limits.objects.current().cap_in_force // max(1, len(arms)))
    found = []
    for arm in arms:
        options = options_of(arm)
        at_once = min(options.concurrency or share, share)
        shared = replace(options, concurrency=at_once)
        found.append(intake.foresee(definition, sizes, shared, counted, version))
    return Foreseen(found)


def count(definition: TaskDefinition, items: Sequence[NewItem]) -> forecast.Counted:
    """What the provider counts for a few of the items."""
    rows = [item.data for item in islice(items, forecast.SAMPLE)]
    return forecast.count(forecast.draft_work(definition), rows)


def create(
    definition: TaskDefinition,
    items: Sequence[NewItem],
    arms: Sequence[ArmPlan],
    *,
    seed: str,
    budget: Decimal | None,
    source: str,
    name: str = "",
    sample_size: int | None = None,
    version: TaskVersion | None = None,
    by: Any = None,
    progress: Callable[[int], None] | None = None,
    with_it: Callable[[Experiment], None] | None = None,
) -> Experiment:
    """A draft with its estimates. `version` is the one that `definition` is of, where it is stored.
    `progress` and `with_it` are as `create_with_arms` has them. Raises PlanError, and NotAllowed
    where `by` may not create one."""
    check_arms(arms)
    if not is_priced(definition.model):
        raise no_price(definition.model)
    counted = count(definition, items)
    version = version or TaskVersion.objects.for_definition(definition, by)
    intake.remember(version, counted)
    foreseen = foresee(definition, sizes_of(items), arms, counted, version)
    return Experiment.objects.create_with_arms(
        name=name or suggested_name(definition),
        version=version,
        items=items,
        arms=[
            NewArm(
                label,
                options_of(arm, sample_size),
                found.expected or ZERO,
                found.worst or ZERO,
                found.seconds,
            )
            for label, arm, found in zip(labels_of(arms), arms, foreseen.arms, strict=True)
        ],
        seed=seed,
        budget=budget,
        source=source,
        by=by,
        progress=progress,
        with_it=with_it,
    )


def sizes_of(items: Sequence[NewItem]) -> Counter[int]:
    """Bytes of prompt → how many items."""
    return Counter(item.prompt_bytes for item in items)


def suggested_name(definition: TaskDefinition) -> str:
    return f"{definition.name}: {timezone.localdate():%b %-d}"[:200]


def _checked(found: list[NewItem], n: int | None, has: str) -> list[NewItem]:
    if n is not None and len(found) < n:
        raise PlanError(f"{has} {len(found):,} items, fewer than the {n:,} asked for.")
    if len(found) < 2:
        raise PlanError(f"{has} {len(found):,} items: an experiment needs two at least.")
    return found
