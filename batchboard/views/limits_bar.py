"""The limits of the installation as the bar on every page draws them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Sum

from batchboard import rows
from batchboard.models import Attempt, Limits, ModelLimit, Submission
from batchboard.models.limit_settings import RATES
from batchboard.views import outages
from batchboard.views.limits_use import used_last_minute
from batchboard.views.workers import Workers, workers_lately

MOST_SLOTS = 40
LABELS = {
    "rpm": ("Requests per minute", "Req / min"),
    "itpm": ("Input tokens per minute", "Input / min"),
    "otpm": ("Output tokens per minute", "Output / min"),
}


@dataclass(frozen=True)
class Rate:
    """What one model used of one limit per minute in the last minute."""

    name: str
    label: str
    short: str
    used: float
    allowed: float
    binds: bool = False
    tightest: bool = False
    """Whether a narrow screen, which has room for one of them, shows this one."""

    @property
    def share(self) -> float:
        return _percent(self.used, self.allowed)

    @property
    def used_words(self) -> str:
        return _short(self.used, self.allowed)

    @property
    def allowed_words(self) -> str:
        return _short(self.allowed, self.allowed)


@dataclass(frozen=True)
class Outage:
    """A model of which the provider answers no call."""

    model: str
    words: str
    since: datetime | None


@dataclass(frozen=True)
class LimitsBar:
    """In flight, rates, money and workers, each as used / allowed. Shares are percentages of a
    meter."""

    limits: Limits
    in_flight: int
    model: str
    rates: Sequence[Rate]
    spent: Decimal
    ceiling: Decimal | None
    reserved: Decimal
    workers: int
    workers_known: int
    """Those that live, and those that were lost lately and did not come back."""
    heard_at: datetime | None
    outages: Sequence[Outage] = ()

    @property
    def slots(self) -> list[str]:
        """The cap as slots, or nothing where it is too large to be drawn so."""
        cap, in_force = self.limits.cap, self.limits.cap_in_force
        if max(cap, self.in_flight) > MOST_SLOTS:
            return []
        free = max(0, in_force - self.in_flight)
        cut = max(0, cap - self.in_flight - free)
        return ["filled"] * self.in_flight + ["free"] * free + ["cut"] * cut

    @property
    def cap_words(self) -> str:
        """Why the cap is as it is, without the number that it was: cut to 16 by a 429."""
        return re.sub(r",? from \d+ to", " to", self.limits.cap_reason)

    @property
    def in_flight_share(self) -> float:
        return _percent(self.in_flight, self.limits.cap)

    @property
    def spent_share(self) -> float:
        return _percent(self.spent, self.ceiling) if self.ceiling is not None else 0.0

    @property
    def reserved_share(self) -> float:
        if self.ceiling is None:
            return 0.0
        return min(100 - self.spent_share, _percent(self.reserved, self.ceiling))

    @property
    def period(self) -> str:
        return "this month" if self.limits.configured("budget_period") == "month" else "in all"


def limits_bar(limits: Limits, workers: Workers, now: datetime) -> LimitsBar:
    """Eight queries, each over few rows however long the ledger is."""
    held = (
        Attempt.objects.live()
        .filter(pk__gte=limits.oldest_live)
        .aggregate(slots=Sum("slot"), reserved=Sum("reserved"))
    )
    submitted = Submission.objects.open().aggregate(reserved=Sum("reserved"))
    models = list(ModelLimit.objects.order_by("model"))
    model, rates = _busiest(limits, models, now)
    return LimitsBar(
        limits=limits,
        in_flight=held["slots"] or 0,
        model=model,
        rates=rates,
        spent=limits.spent(now),
        ceiling=limits.configured("budget"),
        reserved=(held["reserved"] or Decimal(0)) + (submitted["reserved"] or Decimal(0)),
        workers=len(workers.alive),
        workers_known=workers.known,
        heard_at=max((worker.consumed_at for worker in workers.alive), default=None),
        outages=[
            Outage(one.model, outages.why(one.unanswered_as), one.unanswered_since)
            for one in models
            if one.in_outage
        ],
    )


def current_bar() -> LimitsBar:
    """The bar of a page that reads nothing of the limits for itself."""
    now = rows.now()
    limits = Limits.objects.shown()
    return limits_bar(limits, workers_lately(now), now)


def _busiest(limits: Limits, models: Sequence[ModelLimit], now: datetime) -> tuple[str, list[Rate]]:
    """The model that is nearest to a limit, to the one that binds where one does; what every model
    may use where nothing was sent."""
    used = used_last_minute(limits, now)
    known = {one.model: one for one in models}
    found = {
        model: _rates(known.get(model) or ModelLimit(model=model), used[model], limits)
        for model in sorted(used) or [""]
    }

    def nearness(model: str) -> float:
        near = [rate.share for rate in found[model] if rate.binds] or [0.0]
        return max(near) * 1_000 + max(rate.share for rate in found[model])

    model = max(found, key=nearness)
    return model, found[model]


def _rates(row: ModelLimit, used: dict[str, float], limits: Limits) -> list[Rate]:
    headroom = float(limits.configured("headroom"))
    allowed = {name: row.allowed(name, limits) * headroom for name in RATES}
    binding = limits.binds if limits.binds in RATES else ""
    tightest = binding or max(RATES, key=lambda name: used[name] / allowed[name])
    return [
        Rate(name, *LABELS[name], used[name], allowed[name], name == binding, name == tightest)
        for name in RATES
    ]


def _short(number: float, scale: float) -> str:
    """A number in the unit of its scale: 0.72M of 1.60M, 48k of 320k, 796 of 800."""
    if scale >= 1_000_000 and number >= 10_000:
        return f"{number / 1_000_000:.2f}M"
    if scale >= 10_000 and number >= 1_000:
        return f"{number / 1_000:.0f}k"
    return f"{number:,.0f}"


def _percent(part: Decimal | float, whole: Decimal | float) -> float:
    return round(min(100.0, float(part) / float(whole) * 100), 2) if whole else 100.0
