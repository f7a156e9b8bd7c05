"""What calls of a task type version measured, by request mode, and how warm their cache is."""

from django.db import models

from batchboard.models.task_type import TaskVersion


class Measured(models.Model):
    """Sums over the answered calls of one version in one mode; estimates start from them."""

    version = models.ForeignKey(
        TaskVersion, models.CASCADE, related_name="measured", db_index=False
    )
    mode = models.CharField(max_length=20)
    calls = models.PositiveBigIntegerField(default=0)
    items = models.PositiveBigIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0, help_text="Of the prompts as they were sent.")
    input_tokens = models.PositiveBigIntegerField(default=0, help_text="Cached or not.")
    output_tokens = models.PositiveBigIntegerField(default=0)
    latency_ms = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version", "mode"], name="one_measure_per_mode")
        ]

    def __str__(self) -> str:
        return f"{self.version_id} {self.mode}: {self.calls} calls"


class WarmCache(models.Model):
    """Until when the provider's cache holds the shared context of a version, as one mode sends it.

    Batches with a `salt` of their own share it with nobody.
    """

    version = models.ForeignKey(TaskVersion, models.CASCADE, related_name="+", db_index=False)
    mode = models.CharField(max_length=20)
    salt = models.CharField(max_length=20, blank=True)
    warm_until = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version", "mode", "salt"], name="one_cache_per_mode")
        ]

    def __str__(self) -> str:
        return f"{self.version_id} {self.mode} until {self.warm_until}"
