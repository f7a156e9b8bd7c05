"""How a batch is to run: the modes and schedules, the options, and the columns that keep them."""

from dataclasses import dataclass, fields
from datetime import timedelta
from decimal import Decimal

from django.core.validators import MinValueValidator
from django.db import models

from batchboard.models.fields import UsdField


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


def mode_words(mode: str, group: int) -> str:
    """A request mode with what belongs to it: "packed, k 5", "session, S 8", "cached"."""
    sign = {Mode.PACKED: "k", Mode.SESSION: "S"}.get(Mode(mode))
    words = mode.replace("_", " ")
    return f"{words}, {sign} {group}" if sign else words


def group_size(mode: str, chosen: int | None) -> int:
    """Items that share a call or a conversation in `mode`, of which `chosen` were asked for."""
    usual = GROUP_SIZES.get(Mode(mode), 1)
    return usual if chosen is None or usual == 1 else chosen


def suggested_deadline(items: int, concurrency: int, item_timeout: int) -> int:
    """Seconds that a batch may need when every call takes its whole timeout, and half again.

    A batch whose deadline is one item's timeout is a classic mistake: it ends in its first wave.
    """
    waves = -(-items // max(1, concurrency))
    return int(timedelta(seconds=waves * item_timeout * 1.5).total_seconds())
