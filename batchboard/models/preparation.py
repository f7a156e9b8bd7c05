"""Preparations: batches and experiments as they are being put together, so that a reload or a
restart loses nothing of what a person gave and chose."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from batchboard.models.batch import Batch
from batchboard.models.decision import decision
from batchboard.models.experiment import Experiment
from batchboard.models.opaque_id import opaque_id
from batchboard.models.upload import Upload
from batchboard.states import MoveRefused

KEPT_EDITING = timedelta(days=30)
KEPT_DONE = timedelta(days=1)


class PreparationState(models.TextChoices):
    EDITING = "editing", "a person fills in the form"
    STORING = "storing", "its rows become a batch, in the background"
    DONE = "done", "the batch is there"


class PreparationKind(models.TextChoices):
    BATCH = "batch", "it becomes a batch"
    EXPERIMENT = "experiment", "it becomes an experiment, with a batch for each arm"
    CLONE = "clone", "the items of a batch become another that runs like it"
    RERUN = "rerun", "items of a batch become another, and its results are rejected"


COPIES = (PreparationKind.CLONE, PreparationKind.RERUN)
"""Those that have no form: all is said when they are made."""


def new_preparation_id() -> str:
    return opaque_id("p")


class PreparationQuerySet(models.QuerySet["Preparation"]):
    def over(self, now: datetime) -> "PreparationQuerySet":
        """Those that nobody will come back to."""
        return self.filter(
            models.Q(state=PreparationState.DONE, saved_at__lt=now - KEPT_DONE)
            | models.Q(state=PreparationState.EDITING, saved_at__lt=now - KEPT_EDITING)
        )

    def unfinished(self, owner: Any, kind: PreparationKind) -> "PreparationQuerySet":
        """A person's forms of a kind that have a file, the latest first."""
        mine = self.filter(owner=owner, kind=kind, state=PreparationState.EDITING)
        return mine.exclude(upload=None).select_related("upload").order_by("-saved_at")

    def shown_on_board(self) -> "PreparationQuerySet":
        """Those that are becoming a batch, or could not."""
        return (
            self.filter(kind__in=[PreparationKind.BATCH, *COPIES])
            .filter(
                models.Q(state=PreparationState.STORING)
                | models.Q(state=PreparationState.EDITING, error__isnull=False)
            )
            .select_related("owner", "upload", "source")
        )

    def rejecting(self, batch: Batch) -> "PreparationQuerySet":
        """Those that are copying items of a batch, to reject it and send them again."""
        storing = self.filter(kind=PreparationKind.RERUN, state=PreparationState.STORING)
        return storing.filter(source=batch).select_related("owner")

    def copy(
        self, kind: PreparationKind, source: Batch, items: int, by: Any, **fields: str
    ) -> "Preparation":
        """Have `items` of `source` copied in the background; `fields` are what was asked for. Of a
        batch that is being sent again already MoveRefused is raised."""
        with decision():
            if kind == PreparationKind.RERUN and self.rejecting(source).exists():
                raise MoveRefused(f"{source.name} is being rejected and sent again already.")
            return self.create(
                kind=kind,
                source=source,
                owner=by,
                state=PreparationState.STORING,
                starts="start" in fields,
                fields=fields | {"items": items},
            )


class Preparation(models.Model):
    """The form of a new batch, or experiment, as it was typed, and how far its rows are stored; or
    a copy that is made of the items of the batch `source`.

    `error` is why the rows could not be stored; `fields` are the form's texts by name. `counted`
    is what the provider counted for the definition whose digest stands in it.
    """

    public_id = models.CharField(
        max_length=20, unique=True, default=new_preparation_id, editable=False
    )
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    kind = models.CharField(max_length=10, choices=PreparationKind, default=PreparationKind.BATCH)
    upload = models.ForeignKey(Upload, models.SET_NULL, null=True, related_name="preparations")
    source = models.ForeignKey(Batch, models.CASCADE, null=True, related_name="copies")
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
        if self.source is not None and not self.fields.get("name"):
            return f"{self.source.name} (again)"
        return str(self.fields.get("name") or self.public_id)

    @property
    def is_copy(self) -> bool:
        return self.kind in COPIES

    @property
    def items(self) -> int:
        """How many items a copy will have."""
        return int(self.fields.get("items", 0))

    @property
    def may_change(self) -> bool:
        return self.state == PreparationState.EDITING

    def keep(self, fields: Mapping[str, str]) -> None:
        """Write the form down, with other `fields` where there are any."""
        if fields:
            self.fields, self.error = dict(fields), None
        self.saved_at = timezone.now()
        if self.pk:
            # Not where another request has started it meanwhile: what was asked for then holds.
            self._editing().update(
                fields=self.fields,
                saved_at=self.saved_at,
                **({"error": None} if fields else {}),
            )
            return
        # Two requests of a fresh form may come at once: the later one wins, as it would later on.
        stored, _ = Preparation.objects.update_or_create(
            public_id=self.public_id,
            owner=self.owner,
            kind=self.kind,
            defaults={"fields": self.fields, "saved_at": self.saved_at},
        )
        self.pk = stored.pk
        self._state.adding = False

    def take_in(self, name: str, chunks: Iterable[bytes], fields: Mapping[str, str]) -> None:
        """Give it a file in place of the one before, and set `fields` of the form beside it.
        Raises UploadTooLarge, and then nothing has changed. Where the form was started or discarded
        while the file came, which a large one takes time for, the file is forgotten."""
        self.give(Upload.objects.receive(name, chunks, self.owner), fields)

    def give(self, received: Upload, fields: Mapping[str, str]) -> bool:
        """Put a file in place of the one before, while the form may change. False where it may not
        any more: the rows that are being stored stay what they are."""
        changed: dict[str, Any] = {"upload": received, "error": None, "counted": None}
        if fields:
            changed["fields"] = self.fields | dict(fields)
        if not self._editing().update(**changed):
            received.delete()
            return False
        before = self.upload
        for name, value in changed.items():
            setattr(self, name, value)
        _forget(before)
        return True

    def store(self, *, starts: bool) -> bool:
        """Let its rows become what it asks for, in the background, and start that. False where
        another request was first."""
        won = self._editing().update(
            state=PreparationState.STORING,
            starts=starts,
            stored=0,
            error=None,
            count_wanted="",
            lease_until=None,
            saved_at=timezone.now(),
        )
        return bool(won)

    def want_count(self, digest: str) -> bool:
        """Note that the provider is to count what has this digest. False where it did, or was asked
        already."""
        if digest in {self.count_wanted, (self.counted or {}).get("digest")}:
            return False
        return bool(Preparation.objects.filter(pk=self.pk).update(count_wanted=digest))

    def discard(self) -> bool:
        """Forget the form, and its file where no other has it. False where it becomes a batch
        right now."""
        idle = Preparation.objects.filter(pk=self.pk).exclude(state=PreparationState.STORING)
        if not idle.delete()[0]:
            return False
        _forget(self.upload)
        return True

    def _editing(self) -> PreparationQuerySet:
        return Preparation.objects.filter(pk=self.pk, state=PreparationState.EDITING)


def _forget(upload: Upload | None) -> None:
    if upload is not None and not upload.preparations.exists():
        upload.delete()
