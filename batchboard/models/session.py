"""Sessions: conversations that work through several items of a batch in turn."""

from django.db import models


class Session(models.Model):
    """One conversation. Each turn is an attempt of its own, so it takes a slot, is paid for and
    fails like any other; the conversation is rebuilt from the turns that succeeded, and so goes on
    from any worker.

    `items`, `tokens` and `bytes` are what its context holds: a turn that failed is no part of it.
    """

    batch = models.ForeignKey("Batch", models.CASCADE, related_name="sessions", db_index=False)
    items = models.PositiveIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0)
    most_items = models.PositiveIntegerField()
    most_tokens = models.PositiveBigIntegerField()
    started_at = models.DateTimeField()
    ends_at = models.DateTimeField(help_text="No turn begins after it.")
    last_at = models.DateTimeField()
    open = models.BooleanField(default=True)

    class Meta:
        indexes = [
            models.Index(fields=["batch"], condition=models.Q(open=True), name="session_open")
        ]

    def __str__(self) -> str:
        return f"session {self.pk} of {self.batch_id}"
