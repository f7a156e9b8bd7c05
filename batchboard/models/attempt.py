"""Attempts: one try at one item. The slots of the cap, and the cost ledger."""

from decimal import Decimal

from django.db import models
from django.db.models import Q

from batchboard.models.fields import UsdField
from batchboard.pricing import KINDS

TOKENS = tuple(f"{kind}_tokens" for kind in KINDS)
"""The columns of tokens, in the order of the kinds."""


class Worker(models.Model):
    """A worker process that makes calls; its lease is the lease of every call that it holds.

    A row is one life of a process: a process whose lease ran out is fenced for good, and if it
    lives on it takes a new row before it calls again.
    """

    node = models.CharField(max_length=200, help_text="Celery's name of it; its queue is its own.")
    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField()
    started_at = models.DateTimeField(auto_now_add=True)
    lease_until = models.DateTimeField(db_index=True)
    consumed_at = models.DateTimeField(
        help_text="When it last took a message off its queue, which alone proves that it can."
    )
    fenced = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.node} ({self.pid})"


class Price(models.Model):
    """The prices that were applied, kept as they stood: dollars per million tokens, by kind."""

    model = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    rates = models.JSONField()
    source = models.CharField(max_length=200)
    first_used_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.model} from {self.source}"


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def live(self) -> "AttemptQuerySet":
        """Calls of our own: let through, and not ended."""
        return self.filter(ended_at__isnull=True, submission__isnull=True)

    def unended(self) -> "AttemptQuerySet":
        """Those in flight and those that are with the provider in a message batch."""
        return self.filter(ended_at__isnull=True)

    def ended(self) -> "AttemptQuerySet":
        return self.filter(ended_at__isnull=False)

    def failed(self) -> "AttemptQuerySet":
        """Attempts that ended without a result, whatever became of their items."""
        return self.ended().exclude(outcome="ok")


class Attempt(models.Model):
    """One try at one item: granted, then started, then ended with one of a closed set of outcomes.

    A slot of the cap is a live attempt (`ended_at` null) with `slot` 1; when several items share a
    call, only the first of them carries the slot. Attempts of a `submission` take none and are
    not among the live ones, so that a hundred thousand of them cost a decision nothing. `cost` is
    null where it is unknown, and the reservation then stays as its upper bound. Without a `price`
    it ran unpriced: nothing could be reserved, and an unknown cost has no bound.
    """

    item = models.ForeignKey("Item", models.CASCADE, related_name="attempts")
    batch = models.ForeignKey("Batch", models.CASCADE, related_name="attempts", db_index=False)
    worker = models.ForeignKey(Worker, models.PROTECT, null=True, db_index=False)
    price = models.ForeignKey(Price, models.PROTECT, null=True, db_index=False)
    model = models.CharField(max_length=100)
    mode = models.CharField(max_length=20)
    call = models.PositiveBigIntegerField(help_text="Attempts of one provider request share it.")
    slot = models.PositiveSmallIntegerField(default=1)
    grant = models.PositiveBigIntegerField(null=True)
    session = models.ForeignKey(
        "Session", models.SET_NULL, null=True, related_name="turns", db_index=False
    )
    submission = models.ForeignKey(
        "Submission", models.CASCADE, null=True, related_name="attempts", db_index=False
    )
    prime = models.BooleanField(default=False, help_text="Others wait for its answer to begin.")
    cache = models.CharField(max_length=2, blank=True, help_text="How long what it writes lives.")
    max_tokens = models.PositiveIntegerField()
    expected_input = models.PositiveIntegerField(default=0)
    expected_output = models.PositiveIntegerField(default=0)
    reserved = UsdField()
    granted_at = models.DateTimeField()
    granted_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=20, blank=True)
    problem = models.CharField(max_length=300, blank=True)
    status = models.PositiveSmallIntegerField(null=True)
    request_id = models.CharField(max_length=100, blank=True)
    input_tokens = models.PositiveBigIntegerField(null=True)
    output_tokens = models.PositiveBigIntegerField(null=True)
    cache_write_5m_tokens = models.PositiveBigIntegerField(null=True)
    cache_write_1h_tokens = models.PositiveBigIntegerField(null=True)
    cache_read_tokens = models.PositiveBigIntegerField(null=True)
    cost = UsdField(null=True)
    latency_ms = models.PositiveIntegerField(null=True)

    objects = AttemptQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["item"], condition=Q(ended_at__isnull=True), name="one_live_try_per_item"
            )
        ]
        indexes = [
            models.Index(
                fields=["id"],
                condition=Q(ended_at__isnull=True, submission__isnull=True),
                name="attempt_live",
            ),
            models.Index(
                fields=["submission", "id"],
                condition=Q(ended_at__isnull=True, submission__isnull=False),
                name="attempt_submitted",
            ),
            models.Index(
                fields=["ended_at"],
                condition=Q(submission__isnull=False),
                name="attempt_submitted_by_end",
            ),
            models.Index(fields=["batch", "ended_at"], name="attempt_by_end"),
            models.Index(
                fields=["session"], condition=Q(session__isnull=False), name="attempt_of_session"
            ),
            models.Index(
                fields=["batch", "outcome", "ended_at"],
                condition=Q(ended_at__isnull=False) & ~Q(outcome="ok"),
                name="attempt_failed",
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.pk} at {self.item_id}"

    @property
    def cache_write_tokens(self) -> int | None:
        """Written to the cache, to be kept for however long; None where that is unknown."""
        short, long = self.cache_write_5m_tokens, self.cache_write_1h_tokens
        return None if short is None and long is None else (short or 0) + (long or 0)

    @property
    def bound(self) -> Decimal | None:
        """The most that an unknown cost can be; None where it is known, or has no bound."""
        return None if self.cost is not None or self.price_id is None else self.reserved

    @property
    def is_unpriced(self) -> bool:
        """Whether it ended and its cost is unknown for want of a price."""
        return self.ended_at is not None and self.cost is None and self.price_id is None


class Answer(models.Model):
    """What came back, as it came: the result of a success, the evidence of a failure."""

    attempt = models.OneToOneField(Attempt, models.CASCADE, primary_key=True, related_name="answer")
    text = models.TextField()
    stop_reason = models.CharField(max_length=40, blank=True)

    def __str__(self) -> str:
        return f"answer of {self.attempt_id}"


class Spend(models.Model):
    """What the installation spent in one month (UTC): the ceiling is held against this."""

    month = models.CharField(max_length=7, primary_key=True)
    known = UsdField(default=0)
    unknown = UsdField(default=0, help_text="Upper bound of what attempts of unknown cost cost.")

    def __str__(self) -> str:
        return f"{self.month}: {self.known}"
