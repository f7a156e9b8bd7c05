"""One decision of the governor: the lock, the moment, and what is read once and written once."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from batchboard import rows
from batchboard.models import Limits, ModelLimit
from batchboard.models.decision import decision
from dispatch.buckets import Buckets


class Deciding:
    """What a decision works on. Changes to `limits` and to buckets are written when it ends."""

    def __init__(self, limits: Limits, now: datetime) -> None:
        self.limits = limits
        self.now = now
        self._buckets: dict[str, Buckets] = {}

    def buckets(self, model: str) -> Buckets:
        if model not in self._buckets:
            row, _ = ModelLimit.objects.get_or_create(pk=model)
            self._buckets[model] = Buckets(row, self.limits, self.now)
        return self._buckets[model]

    def number(self) -> int:
        """A number that no call and no grant had before."""
        number = self.limits.next_number
        self.limits.next_number += 1
        return number

    def save(self) -> None:
        limits = self.limits
        rows.execute(
            "UPDATE batchboard_limits SET cap_factor = %s, cap_reason = %s, cap_changed_at = %s,"
            " clean_calls = %s, binds = %s, next_number = %s, oldest_live = %s, pumped_at = %s"
            " WHERE id = %s",
            [limits.cap_factor, limits.cap_reason, limits.cap_changed_at, limits.clean_calls,
             limits.binds, limits.next_number, limits.oldest_live, limits.pumped_at, limits.pk],
        )  # fmt: skip
        for buckets in self._buckets.values():
            row = buckets.row
            rows.execute(
                "UPDATE batchboard_modellimit SET told_by = %s, told_rpm = %s, told_itpm = %s,"
                " told_otpm = %s, requests = %s, input_tokens = %s, output_tokens = %s,"
                " generated = %s, level_at = %s, paused_until = %s, episode_at = %s,"
                " unanswered = %s, unanswered_since = %s, unanswered_as = %s, in_outage = %s"
                " WHERE model = %s",
                [row.told_by, row.told_rpm, row.told_itpm, row.told_otpm, row.requests,
                 row.input_tokens, row.output_tokens, row.generated, row.level_at,
                 row.paused_until, row.episode_at, row.unanswered, row.unanswered_since,
                 row.unanswered_as, row.in_outage, row.model],
            )  # fmt: skip


@contextmanager
def deciding() -> Iterator[Deciding]:
    """Hold the governor's lock; what is decided is written in the same transaction."""
    with decision() as limits:
        made = Deciding(limits, rows.now())
        yield made
        made.save()
