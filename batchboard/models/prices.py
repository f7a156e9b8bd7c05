"""The prices that apply to a model: those that an administrator entered, else the price list's."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from time import monotonic
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from batchboard import pricing, signals
from batchboard.models.event import Event
from batchboard.models.fields import UsdField
from batchboard.pricing import KINDS, Rates
from batchboard.roles import Right, require
from batchboard.states import Block

MOST_PER_MILLION = 100_000
KEPT_SECONDS = 3.0
"""Every decision of the governor asks for rates, so a process keeps the few entered prices for so
long; a new one takes effect everywhere within that time, without a restart."""


@dataclass(frozen=True)
class Applied:
    """Rates that hold at a moment, and where they come from."""

    rates: Rates
    source: str

    def halved(self) -> "Applied":
        """What holds in a message batch of the provider."""
        return Applied(self.rates.halved(), f"{self.source}, half of it in message batches")


class PriceNotPossible(ValueError):
    """A price that cannot be entered; `field` names the value at fault."""

    def __init__(self, field: str, says: str) -> None:
        super().__init__(says)
        self.field = field


class StoredPriceManager(models.Manager["StoredPrice"]):
    _kept: "dict[str, list[StoredPrice]]" = {}
    _kept_until = 0.0

    def by_model(self) -> "dict[str, list[StoredPrice]]":
        """All of them, of each model those that begin last first; a few seconds old at most."""
        if monotonic() >= self._kept_until:
            found: dict[str, list[StoredPrice]] = {}
            for price in self.select_related("entered_by").order_by("-valid_from", "-pk"):
                found.setdefault(price.model, []).append(price)
            self._kept, self._kept_until = found, monotonic() + KEPT_SECONDS
        return self._kept

    def forget(self) -> None:
        """Read them anew when they are asked for next."""
        self._kept_until = 0.0

    def enter(
        self,
        model: str,
        prices: dict[str, Decimal | None],
        *,
        valid_from: datetime | None = None,
        by: Any = None,
    ) -> "StoredPrice":
        """Store dollars per million tokens by kind, valid from a moment on, now by default. What
        was entered stays: a later price takes over from its own moment on.

        Batches that stand still for want of it go on. Raises PriceNotPossible, naming the field.
        """
        require(by, Right.ADMINISTER, "enter a price")
        valid_from = valid_from or timezone.now()
        _check_model(model, entered=model in self.by_model())
        for kind in KINDS:
            _check_price(kind, prices.get(kind))
        rates = Rates.per_million({kind: prices.get(kind) for kind in KINDS})
        values = {kind: pricing.dollars_per_million(getattr(rates, kind)) for kind in KINDS}
        with transaction.atomic():
            entered = self.create(model=model, entered_by=by, valid_from=valid_from, **values)
            said = {kind: f"{value:f}" for kind, value in values.items()}
            Event.objects.record("price.entered", by=by, model=model, **said)
            if valid_from <= timezone.now():
                _lift(model)
            transaction.on_commit(self.forget)
            transaction.on_commit(signals.announce_work)
            transaction.on_commit(signals.announce_limits)
        self.forget()
        return entered


class StoredPrice(models.Model):
    """A price that an administrator entered for a model that the price list does not know: dollars
    per million tokens, by kind. It is never changed."""

    model = models.CharField(max_length=100)
    input = UsdField()
    output = UsdField()
    cache_write_5m = UsdField()
    cache_write_1h = UsdField()
    cache_read = UsdField()
    valid_from = models.DateTimeField()
    entered_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    entered_at = models.DateTimeField(auto_now_add=True)

    objects = StoredPriceManager()

    class Meta:
        ordering = ["model", "-valid_from", "-id"]

    def __str__(self) -> str:
        return f"{self.model} from {self.valid_from:%Y-%m-%d %H:%M}"

    @property
    def rates(self) -> Rates:
        return Rates.per_million({kind: getattr(self, kind) for kind in KINDS})

    @property
    def source(self) -> str:
        who = self.entered_by or "the command line"
        return f"entered by {who}, valid from {self.valid_from:%Y-%m-%d %H:%M} UTC"[:200]


def applied(model: str, at: datetime) -> Applied | None:
    """What a call of `model` costs at a moment, or None where no price of it is known."""
    for price in StoredPrice.objects.by_model().get(model, ()):
        if price.valid_from <= at:
            return Applied(price.rates, price.source)
    listed = pricing.rates(model, at)
    return None if listed is None else Applied(listed, pricing.source())


def is_priced(model: str) -> bool:
    """Whether `model` can be used without more ado: the price list knows it, or its price was
    entered."""
    return pricing.knows(model) or model in StoredPrice.objects.by_model()


def priced_models() -> list[str]:
    """Names of the models that can be used without more ado."""
    entered = StoredPrice.objects.by_model()
    listed = pricing.known_models()
    return [*listed, *sorted(set(entered) - set(listed))]


def why_not(
    model: str, at: datetime, *, unpriced_ok: bool, budget: Any = None, ceiling: Any = None
) -> str:
    """Why calls of `model` may not be made, in a sentence or two; nothing where they may.

    Without a price nobody knows what a call costs before it was made, nor after, so neither a
    budget nor a ceiling could hold: the choice to run unpriced is possible only without both.
    """
    if applied(model, at) is not None:
        return ""
    unknown = f"No price of {model[:80]} is known"
    if not unpriced_ok:
        return (
            f"{unknown}. An administrator can enter one on the limits page, or the batch can be"
            " run unpriced, with its cost unknown."
        )
    if budget is not None:
        return f"{unknown}, so its budget could not hold. Take the budget away, or enter a price."
    if ceiling is not None:
        return (
            f"{unknown}, so the ceiling for all spend could not hold: an installation with a"
            " ceiling runs nothing unpriced. Enter a price on the limits page."
        )
    return ""


def _check_model(model: str, *, entered: bool) -> None:
    if not model or len(model) > 100 or not model.isprintable():
        raise PriceNotPossible("model", "Give the model's name, at most 100 characters.")
    if not entered and pricing.knows(model):
        raise PriceNotPossible(
            "model", f"The price list knows {model}: its rates apply by themselves."
        )


def _check_price(kind: str, price: Decimal | None) -> None:
    if price is None and kind in {"input", "output"}:
        raise PriceNotPossible(kind, "Give the dollars for a million tokens.")
    if price is None:
        return
    fits = price.is_finite() and 0 <= price <= MOST_PER_MILLION
    if not fits or price != price.quantize(Decimal("0.0001")):
        raise PriceNotPossible(
            kind, f"Give dollars from 0 to {MOST_PER_MILLION:,}, with at most four decimals."
        )


def _lift(model: str) -> None:
    from batchboard.models.batch import Batch

    blocked = Batch.objects.unfinished().filter(blocked=Block.UNPRICED, version__model=model)
    blocked.update(blocked="", blocked_detail="", waits_for="")
