"""Submissions: many items sent in one message batch, which the provider works through in its own
time, at half the price and without a slot of the cap."""

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q

from batchboard.models.fields import UsdField
from batchboard.models.opaque_id import opaque_id
from batchboard.states import OPEN_BATCH, BatchState, SubmissionState

if TYPE_CHECKING:
    from batchboard.models.attempt import AttemptQuerySet

S = SubmissionState


def new_public_id() -> str:
    return opaque_id("s")


class SubmissionQuerySet(models.QuerySet["Submission"]):
    def open(self) -> "SubmissionQuerySet":
        """Those whose requests have not all ended."""
        return self.filter(ended_at__isnull=True)

    def due(self, now: datetime) -> "SubmissionQuerySet":
        """Those that something can be done for now, whoever may hold them: sent, looked for,
        asked about, collected, or given up because their batch was cancelled."""
        unsent = Q(state__in=[S.PREPARING, S.READY])
        sendable = Q(state=S.READY, batch__state__in=OPEN_BATCH, batch__blocked="")
        given_up = unsent & Q(batch__state=BatchState.CANCELLED)
        sent = Q(state__in=[S.SENDING, S.WORKING, S.COLLECTING])
        time = Q(next_at=None) | Q(next_at__lte=now)
        return self.open().filter(given_up | (time & (sendable | sent)))


class Submission(models.Model):
    """One message batch of the provider, from the decision that let its items through to the last
    of its results.

    Its attempts take no slot and are counted here: `unsettled` are those that have not ended, and
    `reserved` is what they hold. Only the process whose name is in `owner` works on it. A batch
    that was found after a lost answer is `proven` once its results carry our ids.
    """

    public_id = models.CharField(max_length=20, unique=True, default=new_public_id, editable=False)
    batch = models.ForeignKey("Batch", models.CASCADE, related_name="submissions")
    state = models.CharField(max_length=10, default=S.PREPARING)
    provider_id = models.CharField(max_length=100, blank=True)
    proven = models.BooleanField(default=False)
    refused = models.JSONField(
        default=list, help_text="The provider's ids of batches that looked like it and are not."
    )
    requests = models.PositiveIntegerField(default=0)
    unsettled = models.PositiveIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0, help_text="Of its prompts, as a bound.")
    reserved = UsdField(default=0)
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, help_text="When it began to be sent.")
    cut_off_at = models.DateTimeField(
        null=True, help_text="When the request that may have created it is known to have ended."
    )
    worked_at = models.DateTimeField(null=True, help_text="When the provider was done with it.")
    cancelled_at = models.DateTimeField(null=True, help_text="When the provider was asked to stop.")
    ended_at = models.DateTimeField(null=True)
    next_at = models.DateTimeField(null=True, help_text="Nothing is to be done before.")
    tries = models.PositiveIntegerField(default=0, help_text="Of the present step.")
    owner = models.CharField(max_length=300, blank=True)
    lease_until = models.DateTimeField(null=True)
    problem = models.CharField(max_length=300, blank=True)

    objects = SubmissionQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=[str(state) for state in S]),
                name="submission_state_is_known",
            ),
            models.UniqueConstraint(
                fields=["provider_id"],
                condition=~Q(provider_id=""),
                name="one_submission_per_provider_batch",
            ),
        ]
        indexes = [
            models.Index(
                fields=["batch"], condition=Q(ended_at__isnull=True), name="submission_open"
            )
        ]

    def __str__(self) -> str:
        return f"{self.public_id} of {self.batch_id}: {self.state}"

    @property
    def waiting_attempts(self) -> "AttemptQuerySet":
        """Its attempts that have not ended."""
        return self.attempts.filter(ended_at__isnull=True).order_by("pk")
