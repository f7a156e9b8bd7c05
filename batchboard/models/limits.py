"""The limits of the whole installation: what a person set, and what is in force."""

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
from batchboard.models.limit_settings import SETTINGS, BudgetPeriod, as_text, read_settings
from batchboard.money import ZERO
from batchboard.roles import Right, require
from batchboard.states import Block


class LimitsManager(models.Manager["Limits"]):
    def current(self) -> "Limits":
        """The one row, made on first use."""
        limits = self.first()
        return limits or self.get_or_create(pk=1)[0]

    def shown(self) -> "Limits":
        """The same, read together with who paused everything, whom pages name."""
        return self.select_related("paused_by").first() or self.current()


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
    starter_may_approve = models.BooleanField(null=True)
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
    sampled_at = models.DateTimeField(null=True, help_text="When the newest sample was taken.")
    sampled_from = models.PositiveBigIntegerField(
        default=0, help_text="The oldest live attempt at that time: what ended since is not older."
    )

    objects = LimitsManager()

    class Meta:
        verbose_name_plural = "limits"

    def __str__(self) -> str:
        return "limits"

    def configured(self, name: str) -> Any:
        """What holds for `name`: the stored value, else what the environment says."""
        stored = getattr(self, name)
        return self.from_environment(name) if stored is None else stored

    @staticmethod
    def from_environment(name: str) -> Any:
        """What holds for `name` while nobody has set it."""
        value = {
            "concurrency": settings.DISPATCH_CONCURRENCY,
            "rpm": settings.DISPATCH_RPM,
            "itpm": settings.DISPATCH_ITPM,
            "otpm": settings.DISPATCH_OTPM,
            "headroom": settings.DISPATCH_HEADROOM,
            "budget": settings.DISPATCH_BUDGET_USD,
            "budget_period": settings.DISPATCH_BUDGET_PERIOD,
            "starter_may_approve": settings.STARTER_MAY_APPROVE,
        }[name]
        return None if value is None else SETTINGS[name].parse(value)

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
        """Store new limits; they hold from the governor's next decision on. A budget of None is
        what the environment says.

        Returns the names of what changed. Raises ValueError, naming the field and what it may be.
        """
        require(by, Right.ADMINISTER, "change the limits")
        read = read_settings(values)
        with transaction.atomic():
            stored = Limits.objects.select_for_update().get(pk=self.pk)
            before = {name: stored.configured(name) for name in read}
            for name, value in read.items():
                setattr(self, name, value)
            changed = {
                name: [before[name], self.configured(name)]
                for name in read
                if before[name] != self.configured(name)
            }
            fields = list(read)
            if "concurrency" in changed:
                self.cap_factor, self.cap_reason, self.clean_calls = 1.0, "", 0
                self.cap_changed_at = timezone.now()
                fields += ["cap_factor", "cap_reason", "clean_calls", "cap_changed_at"]
            self.save(update_fields=fields)
            if changed:
                Event.objects.record("limits.changed", by=by, **as_text(changed))
            if {"budget", "budget_period"} & set(changed):
                self._lift_ceiling()
            _announce()
        return list(changed)

    def change_model(self, model: str, by: Any = None, **values: Any) -> list[str]:
        """Store limits of one model; None goes back to what holds for every model.

        Returns the names of what changed. Raises ValueError, naming the field and what it may be.
        """
        require(by, Right.ADMINISTER, "change the limits")
        own = {name: value for name, value in values.items() if value not in {None, ""}}
        read = dict.fromkeys(values) | read_settings(own)
        with transaction.atomic():
            row, _ = ModelLimit.objects.select_for_update().get_or_create(pk=model)
            changed = {
                name: [getattr(row, name), value]
                for name, value in read.items()
                if getattr(row, name) != value
            }
            ModelLimit.objects.filter(pk=model).update(**read)
            if changed:
                Event.objects.record("limits.changed", by=by, model=model, **as_text(changed))
            _announce()
        return list(changed)

    def pause_all(self, by: Any = None) -> bool:
        """Stop every batch from sending; calls in flight end. False where it was so already."""
        require(by, Right.OPERATE, "pause everything")
        return self._set_paused(True, by)

    def resume_all(self, by: Any = None) -> bool:
        """Let batches send again. False where it was so already."""
        require(by, Right.OPERATE, "resume everything")
        return self._set_paused(False, by)

    def _set_paused(self, paused: bool, by: Any) -> bool:
        with transaction.atomic():
            won = Limits.objects.filter(pk=self.pk, paused=not paused).update(
                paused=paused, paused_by=by if paused else None
            )
            if won:
                Event.objects.record("limits.paused" if paused else "limits.resumed", by=by)
                _announce()
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


class ModelLimitManager(models.Manager["ModelLimit"]):
    def forget_told_by_others(self, provider: str) -> None:
        """Drop what another provider, or this one to another key, said of its limits. To be done
        within a decision, since the governor writes back what it read."""
        self.exclude(told_by__in=["", provider]).update(
            told_by="", told_rpm=None, told_itpm=None, told_otpm=None
        )


class ModelLimit(models.Model):
    """The provider's limits on one model: token buckets, and the pause that all batches share.

    Levels are what may still be sent, at `level_at`; they refill with time and may go below zero.
    """

    model = models.CharField(max_length=100, primary_key=True)
    rpm = models.PositiveIntegerField(null=True, help_text="Null: what holds for every model.")
    itpm = models.PositiveIntegerField(null=True)
    otpm = models.PositiveIntegerField(null=True)
    told_by = models.CharField(
        max_length=64, blank=True, help_text="A digest of the provider's address and our key."
    )
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
    unanswered = models.PositiveIntegerField(
        default=0, help_text="Calls that came to nothing since the provider last answered one."
    )
    unanswered_since = models.DateTimeField(null=True)
    unanswered_as = models.CharField(max_length=20, blank=True)
    in_outage = models.BooleanField(default=False)

    objects = ModelLimitManager()

    def __str__(self) -> str:
        return self.model

    def allowed(self, name: str, limits: Limits) -> int:
        """The limit in force: what a person set, for this model or for all, or less where the
        provider says so."""
        own, told = getattr(self, name), getattr(self, f"told_{name}")
        configured = int(limits.configured(name) if own is None else own)
        return configured if told is None else min(configured, told)


def _announce() -> None:
    transaction.on_commit(signals.announce_work)
    transaction.on_commit(signals.announce_limits)


def month_of(moment: datetime) -> str:
    """The calendar month in UTC, as 2026-11."""
    return moment.astimezone(UTC).strftime("%Y-%m")
