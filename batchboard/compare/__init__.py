"""What a task cost before and after, and whether the difference can be believed.

Arithmetic alone: `compare` takes what was measured and gives intervals, verdicts and their words.
"""

from batchboard.compare.comparing import compare
from batchboard.compare.data import (
    Advice,
    ArmData,
    ArmResult,
    Comparison,
    Interval,
    Reason,
    TaskCost,
    Verdict,
)
from batchboard.compare.intervals import difference_of_shares, mean, share
from batchboard.compare.pairing import Pairing

__all__ = [
    "Advice",
    "ArmData",
    "ArmResult",
    "Comparison",
    "Interval",
    "Pairing",
    "Reason",
    "TaskCost",
    "Verdict",
    "compare",
    "difference_of_shares",
    "mean",
    "share",
]
