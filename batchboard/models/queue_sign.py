"""Signs that somebody takes messages off a queue and gets on with them."""

from datetime import datetime

from django.db import models

FILES = "files"


class QueueSignManager(models.Manager["QueueSign"]):
    def note(self, queue: str, now: datetime) -> None:
        """A message of `queue` was taken just now, or the work that it asked for got further."""
        if not self.filter(pk=queue).update(at=now):
            self.get_or_create(pk=queue, defaults={"at": now})


class QueueSign(models.Model):
    """The newest sign of one queue, whichever process gave it."""

    queue = models.CharField(max_length=20, primary_key=True)
    at = models.DateTimeField()

    objects = QueueSignManager()

    def __str__(self) -> str:
        return f"{self.queue} at {self.at:%H:%M:%S}"
