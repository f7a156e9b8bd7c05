"""How far estimates were off: what batches cost over what was estimated; arithmetic alone.

A ratio of 2 and one of a half are off by the same, so means are geometric.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from batchboard.compare import mean


@dataclass(frozen=True)
class Off:
    """The geometric mean of so many ratios, with its 95 % interval where there are two at least."""

    count: int
    mid: float
    low: float | None = None
    high: float | None = None

    @property
    def verdict(self) -> str:
        """Whether estimates are for certain too low, too high, or neither."""
        if self.low is None or self.high is None:
            return "few"
        if self.low > 1:
            return "low"
        return "high" if self.high < 1 else "fair"


def off(ratios: Sequence[float]) -> Off | None:
    """Of actual over estimated costs, all above 0; None of none."""
    if not ratios:
        return None
    found = mean([log(ratio) for ratio in ratios])
    if found.low is None or found.high is None:
        return Off(len(ratios), exp(found.mid))
    return Off(len(ratios), exp(found.mid), exp(found.low), exp(found.high))
