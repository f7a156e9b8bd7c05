"""A review: what was drawn, and what a person said of each result."""

from django.conf import settings
from django.db import models

from batchboard.models.reserving import SampledItemQuerySet


class ReviewState(models.TextChoices):
    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    CLOSED = "closed", "closed undecided: items were sent again, or the batch was cancelled"


class Verdict(models.TextChoices):
    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"


class Review(models.Model):
    """One asking for review: what was drawn, from how many, and how it was decided."""

    batch = models.ForeignKey("Batch", models.CASCADE, related_name="reviews")
    state = models.CharField(max_length=10, choices=ReviewState, default=ReviewState.OPEN)
    seed = models.CharField(max_length=32)
    population = models.PositiveIntegerField()
    opened_at = models.DateTimeField(auto_now_add=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    decided_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["batch"], condition=models.Q(state="open"), name="one_open_review"
            )
        ]

    def __str__(self) -> str:
        return f"review of {self.batch_id}"

    @property
    def bad(self) -> int:
        return self.sampled.filter(verdict=Verdict.FAIL).count()

    @property
    def judged(self) -> int:
        return self.sampled.exclude(verdict="").count()


class SampledItem(models.Model):
    """One result that was drawn, and what a person said of it."""

    review = models.ForeignKey(Review, models.CASCADE, related_name="sampled", db_index=False)
    item = models.ForeignKey("Item", models.CASCADE)
    place = models.PositiveIntegerField()
    verdict = models.CharField(max_length=4, choices=Verdict, blank=True)
    note = models.TextField(blank=True)
    judged_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    judged_at = models.DateTimeField(null=True)
    reserved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    reserved_until = models.DateTimeField(null=True)

    objects = SampledItemQuerySet.as_manager()

    class Meta:
        ordering = ["place"]
        constraints = [
            models.UniqueConstraint(fields=["review", "item"], name="an_item_is_drawn_once")
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.verdict or 'open'}"

    @property
    def output(self) -> str:
        """The answer as it came, for the person who judges it."""
        return self.item.result.answer.text if self.item.result else ""
