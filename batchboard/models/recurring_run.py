"""The times of recurring batches that came, or were asked for, and what became of each."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from batchboard.models.batch import Batch
from batchboard.models.recurring import Recurring

KEPT = timedelta(days=90)


class RunState(models.TextChoices):
    WAITING = "waiting", "its time came, and its batch is being made"
    STARTED = "started", "its batch was made and started"
    SKIPPED = "skipped", "the batch before it was not done yet"
    FAILED = "failed", "no batch could be made; `problem` says why"


class RecurringRunQuerySet(models.QuerySet["RecurringRun"]):
    def waiting(self) -> "RecurringRunQuerySet":
        return self.filter(state=RunState.WAITING)

    def forgotten(self, now: datetime) -> "RecurringRunQuerySet":
        """Old ones that made nothing."""
        return self.filter(batch=None, at__lt=now - KEPT).exclude(state=RunState.WAITING)


class RecurringRun(models.Model):
    """One time that came, or was asked for, and what became of it."""

    recurring = models.ForeignKey(Recurring, models.CASCADE, related_name="runs")
    due_at = models.DateTimeField()
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )
    state = models.CharField(max_length=10, choices=RunState, default=RunState.WAITING)
    problem = models.CharField(max_length=500, blank=True)
    hint = models.CharField(max_length=300, blank=True)
    batch = models.OneToOneField(Batch, models.SET_NULL, null=True, related_name="recurring_run")
    stored = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    at = models.DateTimeField(default=timezone.now)

    objects = RecurringRunQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["recurring", "due_at"], name="a_time_is_taken_once")
        ]
        indexes = [
            models.Index(fields=["id"], condition=models.Q(state="waiting"), name="run_waiting")
        ]

    def __str__(self) -> str:
        return f"{self.recurring_id} at {self.due_at:%Y-%m-%d %H:%M}"


def runs_newest(ids: list[int]) -> Mapping[int, RecurringRun]:
    """The newest run of each, by the primary key of what recurs."""
    newest = RecurringRun.objects.filter(recurring__in=ids).order_by()
    last = newest.values("recurring").annotate(last=models.Max("id")).values("last")
    found = RecurringRun.objects.filter(pk__in=last).select_related("batch")
    return {run.recurring_id: run for run in found}
