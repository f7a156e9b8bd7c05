"""Batches: the parent of items, how to run them, their limits, and where they stand."""

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models, transaction
from django.db.models import F, Q

from batchboard import signals
from batchboard.models.event import Event
from batchboard.models.fields import UsdField
from batchboard.models.item import Item, ItemInput
from batchboard.models.lifecycle import Lifecycle
from batchboard.models.reviewing import Reviewing
from batchboard.models.task_type import TaskVersion
from batchboard.states import OPEN_BATCH, UNFINISHED_BATCH, BatchState

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
INGEST_CHUNK = 2_000


def new_public_id() -> str:
    """An opaque id that is easy to read aloud: no 0, 1, i, l or o."""
    return "b_" + "".join(secrets.choice(ALPHABET) for _ in range(10))


def new_seed() -> str:
    return secrets.token_hex(8)


class Schedule(models.TextChoices):
    WINDOW = "window", "a slot freed is a slot filled"
    WAVES = "waves", "N at once, wait for all, then the next N"


class Mode(models.TextChoices):
    SINGLE = "single", "every item a call of its own, nothing shared"
    CACHED = "cached", "a call per item, the shared context cached"


@dataclass(frozen=True)
class RunOptions:
    """How a batch is to run. Seconds, dollars, items; None means: no limit of its own."""

    schedule: str = Schedule.WINDOW
    mode: str = Mode.CACHED
    concurrency: int | None = None
    first_look: bool = False
    budget: Decimal | None = None
    item_timeout: int = 120
    deadline: int | None = None
    sample_size: int | None = None
    priority: int = 0
    trial: bool = False


@dataclass(frozen=True)
class NewItem:
    """One item as it comes in: its key, its row, and the UTF-8 bytes of its rendered prompt."""

    key: str
    data: dict[str, Any]
    prompt_bytes: int


class BatchQuerySet(models.QuerySet["Batch"]):
    def open(self) -> "BatchQuerySet":
        """Batches that the governor may let calls of through."""
        return self.filter(state__in=OPEN_BATCH, blocked="")

    def unfinished(self) -> "BatchQuerySet":
        return self.filter(state__in=UNFINISHED_BATCH)

    def on_board(self) -> "BatchQuerySet":
        """All but the trials of a task type, which its own page shows."""
        return self.filter(trial=False)

    def awaiting_review(self) -> "BatchQuerySet":
        return self.filter(state=BatchState.REVIEW)

    def create_with_items(
        self,
        *,
        name: str,
        version: TaskVersion,
        items: Iterable[NewItem],
        options: RunOptions,
        by: Any = None,
        rerun_of: "Batch | None" = None,
    ) -> "Batch":
        """A draft with all of its items, or nothing at all where `items` raises on its way."""
        with transaction.atomic():
            batch = self.create(
                name=name,
                version=version,
                owner=by,
                rerun_of=rerun_of,
                schedule=options.schedule,
                mode=options.mode,
                concurrency=options.concurrency,
                first_look=options.first_look,
                budget=options.budget,  # type: ignore[misc]
                item_timeout=options.item_timeout,
                deadline=options.deadline,
                sample_size=options.sample_size,
                priority=options.priority,
                trial=options.trial,
            )
            batch.total = batch._take_in(iter(items))
            batch.save(update_fields=["total"])
            Event.objects.record("batch.created", by=by, batch=batch, items=batch.total)
            transaction.on_commit(lambda: signals.announce_batch(batch.public_id))
        return batch


class Batch(Lifecycle, Reviewing, models.Model):
    """The parent of a pile of items of one task type version.

    `succeeded`, `dead` and `cancelled` count items that ended and are moved in the transaction
    that ends them; how many are running is counted from live attempts, never stored.
    """

    public_id = models.CharField(max_length=20, unique=True, default=new_public_id, editable=False)
    name = models.CharField(max_length=200)
    version = models.ForeignKey(TaskVersion, models.PROTECT, related_name="batches")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    rerun_of = models.ForeignKey("self", models.SET_NULL, null=True, related_name="reruns")
    state = models.CharField(max_length=10, default=BatchState.DRAFT, db_index=True)
    blocked = models.CharField(max_length=20, blank=True)
    blocked_detail = models.CharField(max_length=300, blank=True)
    waits_for = models.CharField(max_length=20, blank=True)
    waits_until = models.DateTimeField(null=True)
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )
    paused_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    schedule = models.CharField(max_length=10, choices=Schedule, default=Schedule.WINDOW)
    mode = models.CharField(max_length=20, choices=Mode, default=Mode.CACHED)
    concurrency = models.PositiveIntegerField(null=True, validators=[MinValueValidator(1)])
    first_look = models.BooleanField(default=False)
    looked = models.BooleanField(default=False)
    budget = UsdField(null=True)
    item_timeout = models.PositiveIntegerField(default=120, help_text="Seconds for one call.")
    deadline = models.PositiveIntegerField(null=True, help_text="Seconds from start to end.")
    deadline_at = models.DateTimeField(null=True)
    priority = models.SmallIntegerField(default=0)
    trial = models.BooleanField(
        default=False, help_text="One item sent to see what comes back; not on the board."
    )
    sample_size = models.PositiveIntegerField(null=True)
    allowed_bad = models.PositiveIntegerField(default=0)
    seed = models.CharField(max_length=32, default=new_seed, editable=False)

    total = models.PositiveIntegerField(default=0)
    succeeded = models.PositiveIntegerField(default=0)
    dead = models.PositiveIntegerField(default=0)
    cancelled = models.PositiveIntegerField(default=0)
    cursor = models.PositiveIntegerField(
        default=0, help_text="Every item before this position was claimed at least once."
    )
    wave = models.PositiveIntegerField(default=0)
    wave_left = models.PositiveIntegerField(default=0)
    cost = UsdField(default=0)
    unknown_cost = UsdField(
        default=0, help_text="Upper bound of what attempts of unknown cost cost."
    )
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    estimate_expected = UsdField(null=True)
    estimate_worst = UsdField(null=True)
    estimate_seconds = models.FloatField(null=True)

    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)

    objects = BatchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "batches"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=[str(state) for state in BatchState]),
                name="batch_state_is_known",
            ),
            models.CheckConstraint(
                condition=Q(total__gte=F("succeeded") + F("dead") + F("cancelled")),
                name="batch_ends_no_more_than_it_has",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def ended(self) -> int:
        """Items that ended, one way or another."""
        return self.succeeded + self.dead + self.cancelled

    @property
    def live_items(self) -> int:
        """Items with a live attempt, counted."""
        return self.attempts.live().count()

    @property
    def reserved(self) -> Decimal:
        """Money held for attempts that are live or whose cost is unknown."""
        held = self.attempts.live().aggregate(held=models.Sum("reserved"))["held"] or Decimal(0)
        return Decimal(held + self.unknown_cost)

    def _take_in(self, items: Iterator[NewItem]) -> int:
        """Store items in chunks, so that memory stays flat however many come; returns how many."""
        position = 0
        while chunk := list(islice(items, INGEST_CHUNK)):
            rows = Item.objects.bulk_create(
                Item(batch=self, position=position + n, key=new.key, prompt_bytes=new.prompt_bytes)
                for n, new in enumerate(chunk)
            )
            ItemInput.objects.bulk_create(
                ItemInput(item=row, data=new.data) for row, new in zip(rows, chunk, strict=True)
            )
            position += len(chunk)
        return position


def suggested_deadline(items: int, concurrency: int, item_timeout: int) -> int:
    """Seconds that a batch may need when every call takes its whole timeout, and half again.

    A batch whose deadline is one item's timeout is a classic mistake: it ends in its first wave.
    """
    waves = -(-items // max(1, concurrency))
    return int(timedelta(seconds=waves * item_timeout * 1.5).total_seconds())
