"""Batches: the parent of items, what they did and cost so far, and where they stand."""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from batchboard.models.arriving import Arriving, NewItem, abandoned
from batchboard.models.changing import Changing
from batchboard.models.fields import UsdField
from batchboard.models.lifecycle import Lifecycle
from batchboard.models.opaque_id import opaque_id
from batchboard.models.reviewing import Reviewing
from batchboard.models.run_options import Mode, RunColumns, RunOptions, group_size, mode_words
from batchboard.models.task_type import TaskVersion
from batchboard.roles import Right, require
from batchboard.states import OPEN_BATCH, UNFINISHED_BATCH, BatchState


def new_public_id() -> str:
    return opaque_id("b")


def new_seed() -> str:
    return secrets.token_hex(8)


class BatchQuerySet(models.QuerySet["Batch"]):
    def open(self) -> "BatchQuerySet":
        """Batches that the governor may let calls of through."""
        return self.filter(state__in=OPEN_BATCH, blocked="")

    def arrived(self) -> "BatchQuerySet":
        """Batches that have all of their items: every one that a person should see."""
        return self.exclude(state=BatchState.INGESTING)

    def discard_abandoned(self, now: datetime) -> None:
        """Clear away what a killed process left of batches that it was filling."""
        for batch in abandoned(self, now):
            batch.discard()

    def unfinished(self) -> "BatchQuerySet":
        return self.filter(state__in=UNFINISHED_BATCH)

    def with_pages(self) -> "BatchQuerySet":
        """All that have their items, but for the trials of a task type, which its page shows."""
        return self.arrived().filter(trial=False)

    def on_board(self) -> "BatchQuerySet":
        """Those with pages, but for the arms of experiments, which theirs show together."""
        return self.with_pages().filter(experimental=False)

    def create_with_items(
        self,
        *,
        name: str,
        version: TaskVersion,
        items: Iterable[NewItem],
        options: RunOptions,
        by: Any = None,
        rerun_of: "Batch | None" = None,
        progress: Callable[[int], None] | None = None,
        arrives: bool = True,
        **columns: Any,
    ) -> "Batch":
        """A draft with all of its items, or nothing at all where `items` raises on its way.
        `progress` is told how many items are stored so far; `columns` are set beside. Without
        `arrives` the batch stays ingesting, until `arrive` or `discard` is called.

        To send items of a rejected batch again (`rerun_of`) is part of the reviewer's decision.
        """
        right = Right.OPERATE if rerun_of is None else Right.REVIEW
        require(by, right, "create a batch")
        batch = self.create(
            state=BatchState.INGESTING,
            filled_at=timezone.now(),
            name=name,
            version=version,
            owner=by,
            rerun_of=rerun_of,
            **asdict(options),
            **columns,
        )
        batch.fill(items, progress)
        if arrives:
            batch.arrive(by)
        return batch


class Batch(Arriving, Lifecycle, Reviewing, Changing, RunColumns):
    """The parent of a pile of items of one task type version.

    `succeeded`, `dead` and `cancelled` count items that ended and are moved in the transaction
    that ends them; how many are running is counted from live attempts, never stored.
    """

    public_id = models.CharField(max_length=20, unique=True, default=new_public_id, editable=False)
    name = models.CharField(max_length=200)
    version = models.ForeignKey(TaskVersion, models.PROTECT, related_name="batches")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    rerun_of = models.ForeignKey("self", models.SET_NULL, null=True, related_name="reruns")
    clone_of = models.ForeignKey("self", models.SET_NULL, null=True, related_name="clones")
    state = models.CharField(max_length=10, default=BatchState.DRAFT, db_index=True)
    blocked = models.CharField(max_length=20, blank=True)
    blocked_detail = models.CharField(max_length=300, blank=True)
    blocked_at = models.DateTimeField(null=True)
    waits_for = models.CharField(max_length=20, blank=True)
    waits_until = models.DateTimeField(null=True)
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )
    paused_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    cache_salt = models.CharField(
        max_length=20, blank=True, help_text="Sent first, so that no other batch shares its cache."
    )
    looked = models.BooleanField(default=False)
    deadline_at = models.DateTimeField(null=True)
    trial = models.BooleanField(
        default=False, help_text="One item sent to see what comes back; not on the board."
    )
    experimental = models.BooleanField(
        default=False, help_text="An arm of an experiment, whose page shows it; not on the board."
    )
    simulated = models.BooleanField(
        default=False, help_text="It began at the simulated provider: nothing of it is real money."
    )
    seed = models.CharField(max_length=32, default=new_seed, editable=False)

    total = models.PositiveIntegerField(default=0)
    succeeded = models.PositiveIntegerField(default=0)
    dead = models.PositiveIntegerField(default=0)
    cancelled = models.PositiveIntegerField(default=0)
    cursor = models.PositiveIntegerField(
        default=0, help_text="Every item before this position was claimed at least once."
    )
    pace_since = models.DateTimeField(
        null=True,
        help_text="When it last began or went on: its pace since tells the time left.",
    )
    pace_from = models.PositiveIntegerField(
        default=0, help_text="How many items had ended at `pace_since`."
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

    created_at = models.DateTimeField(default=timezone.now)
    filled_at = models.DateTimeField(null=True, help_text="Ingesting: its last chunk was stored.")
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    exported_at = models.DateTimeField(null=True, help_text="When results last left.")

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
    def mode_words(self) -> str:
        """How its items become calls, in a word or three."""
        return mode_words(self.mode, group_size(self.mode, self.group_size))

    @property
    def ended(self) -> int:
        """Items that ended, one way or another."""
        return self.succeeded + self.dead + self.cancelled

    def seconds_left(self, now: datetime) -> float | None:
        """Seconds until all items have ended, if it goes on as since it last began or went on: a
        night's pause says nothing of the pace. By the estimate until an item has ended since;
        None where there is neither."""
        ended, left = self.ended - self.pace_from, self.total - self.ended
        if self.pace_since is not None and ended > 0:
            return max(0.0, (now - self.pace_since).total_seconds()) / ended * left
        if self.estimate_seconds is None or not self.total:
            return None
        return self.estimate_seconds * left / self.total

    @property
    def live_items(self) -> int:
        """Items with an attempt that has not ended, counted."""
        if self.mode != Mode.PROVIDER_BATCH:
            return self.attempts.live().count()
        return int(self.submissions.open().aggregate(n=models.Sum("unsettled"))["n"] or 0)

    @property
    def reserved(self) -> Decimal:
        """Money held for attempts that are live or whose cost is unknown."""
        held = Decimal(0)
        for holding in (self.attempts.live(), self.submissions.open()):
            held += holding.aggregate(held=models.Sum("reserved"))["held"] or 0
        return Decimal(held + self.unknown_cost)
