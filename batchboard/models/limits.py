"""The limits of the whole installation: what a person set, and what is in force."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from batchboard import signals
from batchboard.models.attempt import Spend
from batchboard.models.event import Event
from batchboard.models.fields import UsdField
from batchboard.money import ZERO
from batchboard.states import Block


class BudgetPeriod(models.TextChoices):
    MONTH = "month", "each calendar month (UTC)"
    ALL = "all", "in all"


@dataclass(frozen=True)
class Change:
    """One setting that a person can change at run time: how it is read and what it may be."""

    parse: Callable[[Any], Any]
    allowed: Callable[[Any], bool]
    says: str


PER_MINUTE = Change(
    int, lambda n: 1 <= n <= 1_000_000_000, "a whole number from 1 to 1,000,000,000"
)
SETTINGS = {
    "concurrency": Change(int, lambda n: 1 <= n <= 10_000, "a whole number from 1 to 10,000"),
    "rpm": PER_MINUTE,
    "itpm": PER_MINUTE,
    "otpm": PER_MINUTE,
    "headroom": Change(float, lambda n: 0.05 <= n <= 1, "a number from 0.05 to 1"),
    "budget": Change(
        Decimal,
        lambda n: n.is_finite() and 0 <= n <= 100_000_000,
        "an amount from 0 to 100,000,000",
    ),
    "budget_period": Change(str, lambda n: n in BudgetPeriod.values, "month or all"),
}


class LimitsManager(models.Manager["Limits"]):
    def current(self) -> "Limits":
        """The one row, made on first use."""
        limits = self.first()
        return limits or self.get_or_create(pk=1)[0]


class Limits(models.Model):
    """One row. A null setting means: what the environment says.

    The governor locks this row for every decision, so that decisions happen one after another
    whichever process makes them; `cap_*`, `next_number` and `oldest_live` are its own.
    """

    concurrency = models.PositiveIntegerField(null=True)
    rpm = models.PositiveIntegerField(null=True)
    itpm = models.PositiveIntegerField(null=True)
    otpm = models.PositiveIntegerField(null=True)
    headroom = models.FloatField(null=True)
    budget = UsdField(null=True)
    budget_period = models.CharField(max_length=5, null=True, choices=BudgetPeriod)
    paused = models.BooleanField(default=False)
    paused_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)

    cap_factor = models.FloatField(default=1.0, help_text="Cap in force as a share of the cap.")
    cap_reason = models.CharField(max_length=200, blank=True)
    cap_changed_at = models.DateTimeField(null=True)
    clean_calls = models.PositiveIntegerField(default=0)
    binds = models.CharField(max_length=20, blank=True)
    next_number = models.PositiveBigIntegerField(default=1)
    pumped_at = models.DateTimeField(null=True)
    oldest_live = models.PositiveBigIntegerField(default=0)

    objects = LimitsManager()

    class Meta:
        verbose_name_plural = "limits"

    def __str__(self) -> str:
        return "limits"

    def configured(self, name: str) -> Any:
        """What holds for `name`: the stored value, else what the environment says."""
        stored = getattr(self, name)
        if stored is not None:
            return stored
        from_environment = {
            "concurrency": settings.DISPATCH_CONCURRENCY,
            "rpm": settings.DISPATCH_RPM,
            "itpm": settings.DISPATCH_ITPM,
            "otpm": settings.DISPATCH_OTPM,
            "headroom": settings.DISPATCH_HEADROOM,
            "budget": settings.DISPATCH_BUDGET_USD,
            "budget_period": settings.DISPATCH_BUDGET_PERIOD,
        }[name]
        return None if from_environment is None else SETTINGS[name].parse(from_environment)

    @property
    def cap(self) -> int:
        """The configured cap on calls in flight."""
        return int(self.configured("concurrency"))

    @property
    def cap_in_force(self) -> int:
        """The cap as it is cut after rate limits, never under one."""
        return max(1, min(self.cap, round(self.cap * self.cap_factor)))

    def spent(self, now: datetime) -> Decimal:
        """Money that counts against the ceiling: known cost and the bound of the unknown."""
        return sum((spend.known + spend.unknown for spend in self._spend(now)), ZERO)

    def _spend(self, now: datetime) -> models.QuerySet[Spend]:
        if self.configured("budget_period") == BudgetPeriod.ALL:
            return Spend.objects.all()
        return Spend.objects.filter(month=month_of(now))

    def change(self, by: Any = None, **values: Any) -> list[str]:
        """Store new limits; they hold from the governor's next decision on.

        Returns the names of what changed. Raises ValueError, naming the field and what it may be.
        """
        read = {}
        for name, value in values.items():
            setting = SETTINGS[name]
            try:
                read[name] = setting.parse(value)
                fits = setting.allowed(read[name])
            except (TypeError, ValueError, ArithmeticError):
                fits = False
            if not fits:
                raise ValueError(f"{name}: {value} is not {setting.says}. Nothing was changed.")
        changed = [name for name, value in read.items() if self.configured(name) != value]
        with transaction.atomic():
            Limits.objects.select_for_update().get(pk=self.pk)
            for name, value in read.items():
                setattr(self, name, value)
            if "concurrency" in changed:
                self.cap_factor, self.cap_reason, self.clean_calls = 1.0, "", 0
                self.cap_changed_at = timezone.now()
            self.save(
                update_fields=[*read, "cap_factor", "cap_reason", "clean_calls", "cap_changed_at"]
                if "concurrency" in changed
                else list(read)
            )
            if changed:
                Event.objects.record(
                    "limits.changed", by=by, **{name: str(read[name]) for name in changed}
                )
            if {"budget", "budget_period"} & set(changed):
                self._lift_ceiling()
            transaction.on_commit(signals.announce_work)
            transaction.on_commit(signals.announce_limits)
        return changed

    def pause_all(self, by: Any = None) -> bool:
        """Stop every batch from sending; calls in flight end. False where it was so already."""
        return self._set_paused(True, by)

    def resume_all(self, by: Any = None) -> bool:
        """Let batches send again. False where it was so already."""
        return self._set_paused(False, by)

    def _set_paused(self, paused: bool, by: Any) -> bool:
        with transaction.atomic():
            won = Limits.objects.filter(pk=self.pk, paused=not paused).update(
                paused=paused, paused_by=by if paused else None
            )
            if won:
                Event.objects.record("limits.paused" if paused else "limits.resumed", by=by)
                transaction.on_commit(signals.announce_work)
                transaction.on_commit(signals.announce_limits)
        self.refresh_from_db(fields=["paused", "paused_by"])
        return bool(won)

    def lift_last_months_ceiling(self, now: datetime) -> None:
        """A new month has a ceiling of its own: what the last one's blocked goes on."""
        if self.configured("budget_period") == BudgetPeriod.MONTH:
            month = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
            self._lift_ceiling(blocked_at__lt=month)

    @staticmethod
    def _lift_ceiling(**which: Any) -> None:
        from batchboard.models.batch import Batch

        Batch.objects.unfinished().filter(blocked=Block.CEILING, **which).update(
            blocked="", blocked_detail="", waits_for=""
        )


class ModelLimit(models.Model):
    """The provider's limits on one model: token buckets, and the pause that all batches share.

    Levels are what may still be sent, at `level_at`; they refill with time and may go below zero.
    """

    model = models.CharField(max_length=100, primary_key=True)
    told_rpm = models.PositiveIntegerField(null=True, help_text="What the provider's answers say.")
    told_itpm = models.PositiveIntegerField(null=True)
    told_otpm = models.PositiveIntegerField(null=True)
    requests = models.FloatField(null=True)
    input_tokens = models.FloatField(null=True)
    output_tokens = models.FloatField(null=True)
    generated = models.FloatField(
        null=True, help_text="Output tokens that the provider's own bucket should still hold."
    )
    level_at = models.DateTimeField(null=True)
    paused_until = models.DateTimeField(null=True)
    episode_at = models.DateTimeField(
        null=True, help_text="Calls that began before this tell nothing new of a limit."
    )

    def __str__(self) -> str:
        return self.model


def month_of(moment: datetime) -> str:
    """The calendar month in UTC, as 2026-11."""
    return moment.astimezone(UTC).strftime("%Y-%m")
