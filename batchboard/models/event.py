"""Events: who did what, and when."""

from typing import Any

from django.conf import settings
from django.db import models


class EventManager(models.Manager["Event"]):
    def record(self, verb: str, *, by: Any = None, batch: Any = None, **detail: Any) -> "Event":
        """Write the fact, inside the transaction of the change that it tells of."""
        return self.create(verb=verb, actor=by, batch=batch, detail=detail)


class Event(models.Model):
    """One fact in the record; without an actor, the engine did it."""

    batch = models.ForeignKey(
        "Batch", models.CASCADE, null=True, related_name="events", db_index=False
    )
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    verb = models.CharField(max_length=40)
    detail = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now_add=True)

    objects = EventManager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["batch", "-id"], name="event_by_batch")]

    def __str__(self) -> str:
        return f"{self.verb} at {self.at:%Y-%m-%d %H:%M:%S}"
