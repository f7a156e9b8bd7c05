"""The ledger rolled up: what the attempts of a batch used and cost, by the day that they ended.

A million attempts cannot be summed while somebody waits for a page, and today alone may hold most
of them, so that sums of closed days would not do. The transaction that ends attempts adds to these
rows, one statement for a group of them; all such transactions hold the governor's lock, so none
waits here for another. The rows equal the sum of the attempts at every moment, also after a crash,
and nothing has to be summed up later.

A row is of one batch: its task type and owner never change and are kept beside it. From the rows of
a filter the attempts behind them are found by the index of a batch's attempts, however long the
ledger is.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings
from django.db import models

from batchboard import rows
from batchboard.models.attempt import TOKENS
from batchboard.models.fields import UsdField

TABLE = "batchboard_ledgerday"
SUMS = (
    "attempts", "unknown_attempts", "unpriced_attempts", *TOKENS, "cost", "unknown_cost",
)  # fmt: skip
KEYS = ("day", "batch_id", "model", "mode")
BATCH = (
    "JOIN batchboard_batch b ON b.id = v.batch_id"
    " JOIN batchboard_taskversion w ON w.id = b.version_id"
)


@dataclass(frozen=True, slots=True)
class Line:
    """What one attempt adds: tokens by kind in the order of `pricing.KINDS`, units of money.

    `cost` is None where it is unknown; `bound` is then the most that it can be, and None where
    not even that is known, for want of a price."""

    batch: int
    model: str
    mode: str
    tokens: tuple[int, int, int, int, int]
    cost: int | None
    bound: int | None


class LedgerDayManager(models.Manager["LedgerDay"]):
    def add(self, lines: Iterable[Line], ended_at: datetime) -> None:
        """Add attempts that ended at a moment, inside the transaction that ends them."""
        day = ended_at.astimezone(UTC).date().isoformat()
        sums: dict[tuple[int, str, str], list[int]] = defaultdict(lambda: [0] * len(SUMS))
        for line in lines:
            unknown = line.cost is None
            unpriced = unknown and line.bound is None
            added = (
                1, unknown and not unpriced, unpriced, *line.tokens, line.cost or 0,
                (line.bound or 0) if unknown else 0,
            )  # fmt: skip
            total = sums[line.batch, line.model, line.mode]
            for index, value in enumerate(added):
                total[index] += int(value)
        values = [(day, *key, *total) for key, total in sorted(sums.items())]
        beside = {"task_type_id": "w.task_type_id", "owner_id": "b.owner_id"}
        rows.add_rows(TABLE, KEYS, SUMS, values, joined=BATCH, beside=beside)


class LedgerDay(models.Model):
    """Sums over the attempts of one batch, with one model and mode, that ended on one day (UTC)."""

    day = models.DateField()
    batch = models.ForeignKey("Batch", models.CASCADE, db_index=False)
    model = models.CharField(max_length=100)
    mode = models.CharField(max_length=20)
    task_type = models.ForeignKey("TaskType", models.PROTECT, db_index=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, db_index=False, related_name="+"
    )
    attempts = models.PositiveBigIntegerField()
    unknown_attempts = models.PositiveBigIntegerField(
        help_text="Those of unknown cost, whose bound is in `unknown_cost`."
    )
    unpriced_attempts = models.PositiveBigIntegerField(
        help_text="Those of unknown cost without a bound, for want of a price."
    )
    input_tokens = models.PositiveBigIntegerField()
    output_tokens = models.PositiveBigIntegerField()
    cache_write_5m_tokens = models.PositiveBigIntegerField()
    cache_write_1h_tokens = models.PositiveBigIntegerField()
    cache_read_tokens = models.PositiveBigIntegerField()
    cost = UsdField()
    unknown_cost = UsdField()

    objects = LedgerDayManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["day", "batch", "model", "mode"], name="one_ledger_row_each"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day}: {self.batch_id}, {self.model}, {self.mode}"
