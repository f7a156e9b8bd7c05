"""Batches: the parent of items, how to run them, their limits, and where they stand."""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from batchboard.models.arriving import Arriving, NewItem, abandoned
from batchboard.models.changing import Changing
from batchboard.models.fields import UsdField
from batchboard.models.lifecycle import Lifecycle
from batchboard.models.reviewing import Reviewing
from batchboard.models.task_type import TaskVersion
from batchboard.roles import Right, require
from batchboard.states import OPEN_BATCH, UNFINISHED_BATCH, BatchState

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"


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
    SESSION = "session", "one conversation works through several items in turn"
    PACKED = "packed", "several items in one call"
    PROVIDER_BATCH = "provider_batch", "the provider's own batches: half price, up to 24 h"


GROUP_SIZES = {Mode.SESSION: 8, Mode.PACKED: 5}
"""Items of a conversation, and of a call, where a batch does not say how many."""

SESSION_SECONDS = 900
PROVIDER_SECONDS = 25 * 3_600
"""From sending a message batch to the last of its results, at the very most."""

SESSION_TOKENS = 50_000


@dataclass(frozen=True)
class RunOptions:
    """How a batch is to run. Seconds, dollars, items; None means: no limit of its own.

    `group_size` is how many items a packed call holds, or a session works through at the most;
    `session_timeout` and `session_tokens` bound a session as a whole. None is the mode's usual.
    """

    schedule: str = Schedule.WINDOW
    mode: str = Mode.CACHED
    concurrency: int | None = None
    first_look: bool = False
    budget: Decimal | None = None
    item_timeout: int = 120
    deadline: int | None = None
    sample_size: int | None = None
    allowed_bad: int = 0
    priority: int = 0
    unpriced_ok: bool = False
    group_size: int | None = None
    session_timeout: int | None = None
    session_tokens: int | None = None

    @property
    def group(self) -> int:
        """Items that share a call or a conversation; 1 where each goes by itself."""
        return group_size(self.mode, self.group_size)

    @classmethod
    def of(cls, like: "RunColumns") -> "RunOptions":
        """How `like` runs, for another that is to run like it."""
        return cls(**{field.name: getattr(like, field.name) for field in fields(cls)})


class RunColumns(models.Model):
    """The columns of RunOptions, for whatever keeps how to run."""

    schedule = models.CharField(max_length=10, choices=Schedule, default=Schedule.WINDOW)
    mode = models.CharField(max_length=20, choices=Mode, default=Mode.CACHED)
    group_size = models.PositiveIntegerField(
        null=True, help_text="Items of one packed call, or of one session."
    )
    session_timeout = models.PositiveIntegerField(null=True, help_text="Seconds for one session.")
    session_tokens = models.PositiveIntegerField(
        null=True, help_text="Tokens of a session's context after which a new one starts."
    )
    concurrency = models.PositiveIntegerField(null=True, validators=[MinValueValidator(1)])
    first_look = models.BooleanField(default=False)
    budget = UsdField(null=True)
    item_timeout = models.PositiveIntegerField(default=120, help_text="Seconds for one call.")
    deadline = models.PositiveIntegerField(null=True, help_text="Seconds from start to end.")
    priority = models.SmallIntegerField(default=0)
    sample_size = models.PositiveIntegerField(null=True)
    allowed_bad = models.PositiveIntegerField(default=0)
    unpriced_ok = models.BooleanField(
        default=False, help_text="It may run without a known price, its cost unknown."
    )

    class Meta:
        abstract = True


def mode_words(mode: str, group: int | None = None) -> str:
    """A request mode, with the `group` that belongs to it where it is given: "packed, k 5",
    "session, S 8", "cached", "provider batch"."""
    sign = {Mode.PACKED: "k", Mode.SESSION: "S"}.get(Mode(mode)) if group else None
    words = mode.replace("_", " ")
    return f"{words}, {sign} {group}" if sign else words


def group_size(mode: str, chosen: int | None) -> int:
    """Items that share a call or a conversation in `mode`, of which `chosen` were asked for."""
    usual = GROUP_SIZES.get(Mode(mode), 1)
    return usual if chosen is None or usual == 1 else chosen


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


def suggested_deadline(items: int, run: RunOptions | RunColumns, cap: int) -> int:
    """Seconds that a batch may need when every call takes its whole timeout, and half again; or
    when the provider takes its whole day for every message batch, and an hour more.

    A batch whose deadline is one item's timeout is a classic mistake: it ends in its first wave.
    """
    if run.mode == Mode.PROVIDER_BATCH:
        return -(-items // (run.concurrency or max(1, items))) * PROVIDER_SECONDS
    waves = -(-items // max(1, min(run.concurrency or cap, cap)))
    return int(timedelta(seconds=waves * run.item_timeout * 1.5).total_seconds())
