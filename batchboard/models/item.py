"""Items: one row of the file each, its input, and where it stands."""

from typing import Any

from django.db import models
from django.db.models import Q

from batchboard.models.fields import KeyField, RowField, UsdField
from batchboard.states import ITEM_MOVES, ItemState


class ItemQuerySet(models.QuerySet["Item"]):
    def waiting(self) -> "ItemQuerySet":
        return self.filter(state=ItemState.WAITING)

    def succeeded(self) -> "ItemQuerySet":
        return self.filter(state=ItemState.SUCCEEDED)

    def dead(self) -> "ItemQuerySet":
        return self.filter(state=ItemState.DEAD)

    def move(self, verb: str, **changes: Any) -> int:
        """Make a move of ITEM_MOVES where it is legal, with `changes` of columns beside it; returns
        of how many."""
        move = ITEM_MOVES[verb]
        return self.filter(state__in=move.sources).update(state=move.target, **changes)


class Item(models.Model):
    """One subtask. Narrow on purpose: every call changes it, and a batch may have a million.

    Fresh items are claimed by position, behind the batch's cursor; an item that was called before
    and waits again has a `due_at` and is claimed by that, so that neither search grows with what
    is already done.
    """

    # The constraints' indexes begin with it; one more would cost every change of an item.
    batch = models.ForeignKey("Batch", models.CASCADE, related_name="items", db_index=False)
    position = models.PositiveIntegerField()
    key = KeyField(max_length=200)
    state = models.CharField(max_length=10, default=ItemState.WAITING)
    prompt_bytes = models.PositiveIntegerField(help_text="UTF-8 bytes of the rendered prompt.")
    due_at = models.DateTimeField(null=True, help_text="Called before; may be called again then.")
    tries = models.PositiveSmallIntegerField(default=0)
    outcome = models.CharField(max_length=20, blank=True, help_text="How the last attempt ended.")
    problem = models.CharField(max_length=300, blank=True)
    cost = UsdField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cache_write_tokens = models.PositiveBigIntegerField(default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0)
    latency_ms = models.PositiveIntegerField(null=True)
    result = models.ForeignKey(
        "Attempt", models.SET_NULL, null=True, related_name="+", db_index=False
    )
    tries_since = models.PositiveBigIntegerField(
        default=0, help_text="Attempts up to this id no longer count: a person sent it again."
    )

    objects = ItemQuerySet.as_manager()

    class Meta:
        ordering = ["batch", "position"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "position"], name="one_item_per_position"),
            models.UniqueConstraint(fields=["batch", "key"], name="one_item_per_key"),
            models.CheckConstraint(
                condition=Q(state__in=[str(state) for state in ItemState]),
                name="item_state_is_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["batch", "due_at"],
                condition=Q(state="waiting", due_at__isnull=False),
                name="item_returned",
            ),
            models.Index(fields=["batch", "position"], condition=Q(state="dead"), name="item_dead"),
            models.Index(
                fields=["batch", "position"],
                condition=Q(state="succeeded"),
                name="item_succeeded",
            ),
            models.Index(
                fields=["batch", "position"],
                condition=Q(state="cancelled"),
                name="item_cancelled",
            ),
            models.Index(
                fields=["batch", "outcome", "position"],
                condition=~Q(outcome="") & ~Q(outcome="ok"),
                name="item_failed",
            ),
            models.Index(
                fields=["batch", "key"], condition=~Q(problem=""), name="item_with_problem"
            ),
        ]

    def __str__(self) -> str:
        return str(self.key)


class ItemInput(models.Model):
    """The row of the file, apart from the item so that a change of state never rewrites it."""

    item = models.OneToOneField(Item, models.CASCADE, primary_key=True, related_name="input")
    data = RowField()

    def __str__(self) -> str:
        return f"input of {self.item_id}"
