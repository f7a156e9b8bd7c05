"""The limits of the installation as the bar above the board draws them."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Sum

from batchboard.models import Attempt, Limits, Worker

MOST_SLOTS = 40
RATES = {
    "rpm": ("Requests per minute", "Req / min"),
    "itpm": ("Input tokens per minute", "Input / min"),
    "otpm": ("Output tokens per minute", "Output / min"),
}


@dataclass(frozen=True)
class Binding:
    """The rate limit that holds calls back, and what it allows in a minute."""

    label: str
    short: str
    allowed: int


@dataclass(frozen=True)
class LimitsBar:
    """In flight, money and workers, each as used / allowed. Shares are percentages of a meter."""

    limits: Limits
    in_flight: int
    spent: Decimal
    ceiling: Decimal | None
    reserved: Decimal
    workers: int
    heard_at: datetime | None

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

    @property
    def binding_rate(self) -> Binding | None:
        binds = self.limits.binds
        if binds not in RATES:
            return None
        allowed = self.limits.configured(binds) * self.limits.configured("headroom")
        return Binding(*RATES[binds], int(allowed))


def limits_bar(limits: Limits, workers: list[Worker], now: datetime) -> LimitsBar:
    held = (
        Attempt.objects.live()
        .filter(pk__gte=limits.oldest_live)
        .aggregate(slots=Sum("slot"), reserved=Sum("reserved"))
    )
    return LimitsBar(
        limits=limits,
        in_flight=held["slots"] or 0,
        spent=limits.spent(now),
        ceiling=limits.configured("budget"),
        reserved=held["reserved"] or Decimal(0),
        workers=len(workers),
        heard_at=max((worker.consumed_at for worker in workers), default=None),
    )


def _percent(part: Decimal | int, whole: Decimal | int) -> float:
    return round(min(100.0, float(part) / float(whole) * 100), 2) if whole else 100.0
