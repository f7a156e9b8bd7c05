"""What a task type can be chosen or made from: stored types, and models with their prices."""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from django.db.models import F, Max
from django.utils import timezone

from batchboard import pricing
from batchboard.models import StoredPrice, TaskVersion
from batchboard.models.prices import Applied, applied
from batchboard.pricing import dollars_per_million

_BEFORE_FAMILIES = re.compile(r"claude-(\d|v\d|instant)")
"""Names that do not begin with haiku, sonnet or the like: the provider serves none of them now. A
task file may still name one, and a form keeps it."""


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
    now = timezone.now()
    entered = [_model(name, applied(name, now)) for name in StoredPrice.objects.by_model()]
    found = {model.name: model for model in [*_listed(f"{now:%Y-%m-%d}"), *filter(None, entered)]}
    return sorted(found.values(), key=lambda model: (model.input, model.output, model.name))


@lru_cache(maxsize=2)
def _listed(day: str) -> list[Model]:
    now = timezone.now()
    found = []
    for name in pricing.known_models():
        if _BEFORE_FAMILIES.match(name):
            continue
        rates = pricing.rates(name, now)
        found.append(_model(name, Applied(rates, "") if rates else None))
    return [model for model in found if model]


def _model(name: str, price: Applied | None) -> Model | None:
    if price is None:
        return None
    into, out = price.rates.input, price.rates.output
    return Model(name, dollars_per_million(into), dollars_per_million(out))
