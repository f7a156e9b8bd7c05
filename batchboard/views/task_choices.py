"""What a task type can be chosen or made from: stored types, and models with their prices."""

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from django.db.models import F, Max
from django.utils import timezone

from batchboard import pricing
from batchboard.models import TaskVersion
from batchboard.money import UNITS_PER_DOLLAR


@dataclass(frozen=True)
class Model:
    """A model and what a million tokens cost."""

    name: str
    input: Decimal
    output: Decimal


def task_choices(chosen: TaskVersion | None = None) -> list[TaskVersion]:
    """The newest version of each task type by name, and the one chosen where it is older."""
    newest = (
        TaskVersion.objects.annotate(last=Max("task_type__versions__number"))
        .filter(number=F("last"))
        .select_related("task_type")
        .only("number", "model", "task_type__name")
        .order_by("task_type__name")
    )
    found: list[TaskVersion] = list(newest)
    if chosen is not None and chosen.pk not in {version.pk for version in found}:
        found.append(chosen)
    return found


def models() -> list[Model]:
    """Models that have a price, cheapest first."""
    return _models(timezone.now().strftime("%Y-%m-%d"))


@lru_cache(maxsize=2)
def _models(day: str) -> list[Model]:
    found = []
    for name in pricing.known_models():
        rates = pricing.rates(name, timezone.now())
        if rates is not None:
            found.append(Model(name, _per_million(rates.input), _per_million(rates.output)))
    return sorted(found, key=lambda model: (model.input, model.output, model.name))


def _per_million(rate: int) -> Decimal:
    return Decimal(rate) * 1_000_000 / UNITS_PER_DOLLAR
