"""The rows of prices on the limits page: which rates apply to each model in use, and why."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from batchboard.models import Batch, ModelLimit, StoredPrice, TaskVersion
from batchboard.models.prices import applied
from batchboard.pricing import KINDS, dollars_per_million
from batchboard.states import Block


@dataclass(frozen=True)
class PriceRow:
    """A model, its dollars per million tokens in the order of `KINDS`, and for prompts longer than
    `above` other ones; no prices where none is known. `blocked` batches stand still for that."""

    model: str
    prices: list[Decimal]
    above: int | None
    then: list[Decimal]
    source: str
    blocked: int
    upcoming: list[StoredPrice]


def price_rows(now: datetime) -> list[PriceRow]:
    """Models that task types name, that were called, or whose price was entered; those without a
    price first."""
    # Who just entered a price looks for it here, whichever process answers.
    StoredPrice.objects.forget()
    entered = StoredPrice.objects.by_model()
    used = set(TaskVersion.objects.order_by().values_list("model", flat=True).distinct())
    called = set(ModelLimit.objects.values_list("pk", flat=True))
    waiting = Batch.objects.unfinished().filter(blocked=Block.UNPRICED).order_by()
    blocked = list(waiting.values_list("version__model", flat=True))
    found = []
    for model in sorted(used | called | set(entered)):
        price = applied(model, now)
        then = price.rates.then if price else None
        found.append(
            PriceRow(
                model,
                [dollars_per_million(getattr(price.rates, kind)) for kind in KINDS]
                if price
                else [],
                price.rates.above if price else None,
                [dollars_per_million(getattr(then, kind)) for kind in KINDS] if then else [],
                price.source if price else "",
                blocked.count(model),
                [one for one in entered.get(model, []) if one.valid_from > now],
            )
        )
    return sorted(found, key=lambda row: bool(row.prices))
