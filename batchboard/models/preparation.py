"""Preparations: batches as they are being put together, so that a reload or a restart loses
nothing of what a person gave and chose."""

import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from batchboard.models.batch import ALPHABET, Batch
from batchboard.models.experiment import Experiment
from batchboard.models.upload import Upload

KEPT_EDITING = timedelta(days=30)
KEPT_DONE = timedelta(days=1)


class PreparationState(models.TextChoices):
    EDITING = "editing", "a person fills in the form"
    STORING = "storing", "its rows become a batch, in the background"
    DONE = "done", "the batch is there"


class PreparationKind(models.TextChoices):
    BATCH = "batch", "it becomes a batch"
    EXPERIMENT = "experiment", "it becomes an experiment, with a batch for each arm"


def new_preparation_id() -> str:
    return "p_" + "".join(secrets.choice(ALPHABET) for _ in range(10))


class PreparationQuerySet(models.QuerySet["Preparation"]):
    def over(self, now: datetime) -> "PreparationQuerySet":
        """Those that nobody will come back to."""
        return self.filter(
            models.Q(state=PreparationState.DONE, saved_at__lt=now - KEPT_DONE)
            | models.Q(state=PreparationState.EDITING, saved_at__lt=now - KEPT_EDITING)
        )

    def shown_on_board(self) -> "PreparationQuerySet":
        """Those that are becoming a batch, or could not."""
        return (
            self.filter(kind=PreparationKind.BATCH)
            .filter(
                models.Q(state=PreparationState.STORING)
                | models.Q(state=PreparationState.EDITING, error__isnull=False)
            )
            .select_related("owner", "upload")
        )


class Preparation(models.Model):
    """The form of a new batch, or experiment, as it was typed, and how far its rows are stored.

    `error` is why the rows could not be stored; `fields` are the form's texts by name. `counted`
    is what the provider counted for the definition whose digest stands in it.
    """

    public_id = models.CharField(
        max_length=20, unique=True, default=new_preparation_id, editable=False
    )
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    kind = models.CharField(max_length=10, choices=PreparationKind, default=PreparationKind.BATCH)
    upload = models.ForeignKey(Upload, models.SET_NULL, null=True, related_name="preparations")
    fields = models.JSONField(default=dict)
    state = models.CharField(
        max_length=10, choices=PreparationState, default=PreparationState.EDITING
    )
    starts = models.BooleanField(default=False, help_text="The batch starts once it is stored.")
    stored = models.PositiveIntegerField(default=0)
    error = models.JSONField(null=True)
    batch = models.ForeignKey(Batch, models.SET_NULL, null=True, related_name="+")
    experiment = models.ForeignKey(Experiment, models.SET_NULL, null=True, related_name="+")
    trial = models.ForeignKey(Batch, models.SET_NULL, null=True, related_name="+")
    count_wanted = models.CharField(max_length=64, blank=True)
    counted = models.JSONField(null=True)
    lease_until = models.DateTimeField(null=True)
    saved_at = models.DateTimeField(default=timezone.now)

    objects = PreparationQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["id"], condition=models.Q(state="storing"), name="preparation_storing"
            )
        ]

    def __str__(self) -> str:
        return str(self.fields.get("name") or self.public_id)

    def give(self, received: Upload) -> bool:
        """Put a file in the place of the one before. False where the form was started or discarded
        while it came, which a large file takes time for: then the file is forgotten, and the rows
        that are being stored stay what they are."""
        editing = Preparation.objects.filter(pk=self.pk, state=PreparationState.EDITING)
        if not editing.update(upload=received, error=None, counted=None):
            received.delete()
            return False
        before, self.upload, self.error, self.counted = self.upload, received, None, None
        _forget(before)
        return True

    def discard(self) -> bool:
        """Forget the form and its file. False where it becomes a batch right now."""
        idle = Preparation.objects.filter(pk=self.pk).exclude(state=PreparationState.STORING)
        if not idle.delete()[0]:
            return False
        _forget(self.upload)
        return True


def _forget(upload: Upload | None) -> None:
    if upload is not None and not upload.preparations.exists():
        upload.delete()
