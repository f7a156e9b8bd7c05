"""Samples: what the installation did, kept in few rows for the plots of the limits page."""

from datetime import timedelta

from django.db import models

from batchboard.models.fields import UsdField

KEPT = {
    10: timedelta(hours=2),
    120: timedelta(days=2),
    900: timedelta(days=8),
}
"""How long samples of so many seconds are kept. Each is written at once in all lengths, so that a
week is read from as few rows as an hour, and nothing has to be summed up later."""


class Sample(models.Model):
    """What happened in `seconds`: the row without a model has what was in flight, the others what
    calls of that model ended.

    The shortest samples carry the moment that they were taken at and tell of the time since the one
    before; longer ones carry the moment at which they begin.
    """

    seconds = models.PositiveIntegerField()
    at = models.DateTimeField()
    model = models.CharField(max_length=100, blank=True)
    in_flight = models.PositiveIntegerField(default=0, help_text="The most that was seen.")
    cap = models.PositiveIntegerField(default=0, help_text="The least that was in force.")
    requests = models.PositiveBigIntegerField(default=0)
    limited = models.PositiveBigIntegerField(default=0, help_text="Of them, answered by a 429.")
    input_tokens = models.PositiveBigIntegerField(
        default=0, help_text="As the provider's limit counts: cache reads are not among them."
    )
    output_tokens = models.PositiveBigIntegerField(default=0)
    spend = UsdField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["seconds", "at", "model"], name="one_sample_each")
        ]

    def __str__(self) -> str:
        return f"{self.seconds} s at {self.at:%H:%M:%S} {self.model}".rstrip()
