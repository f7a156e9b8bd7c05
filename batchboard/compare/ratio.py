"""The ratio of two means: its interval, and how many more would make it narrow enough."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from batchboard.compare.data import Interval
from batchboard.compare.student import quantile

ROUNDING = 1e-12
"""Means that are apart by no more of their size are the same."""

MOST = 1_000_000
"""More than so many are not looked for."""


@dataclass(frozen=True)
class Ratio:
    """Two means that are not negative, their variances (of the means, not of the values) and how
    many values each is of. Paired means have as many, and a covariance; others have none."""

    after: float
    before: float
    variance_after: float
    variance_before: float
    count_after: int
    count_before: int
    paired: bool
    covariance: float = 0.0

    @property
    def ratio(self) -> float:
        return self.after / self.before

    def interval(self, confidence: float = 0.95) -> Interval[float]:
        """Fieller's interval: every ratio that a t test of `after` against so many times `before`
        does not refuse, the paired test or Welch's. Degrees of freedom are those at the ratio
        observed. A bound is None where no ratio on that side is refused.
        """
        t = quantile((1 + confidence) / 2, self.freedom(self.ratio))
        low, high = fieller(
            self.after,
            self.before,
            self.variance_after,
            self.variance_before,
            self.covariance,
            t,
        )
        return Interval(low, self.ratio, high)

    def refuses(self, ratio: float, confidence: float = 0.95, more: int = 0) -> bool:
        """Whether the means, of so many `more` values each that are spread alike, refuse a ratio.

        At the ratio 1 and with no more this is the t test of a difference.
        """
        t = quantile((1 + confidence) / 2, self.freedom(ratio, more))
        apart = abs(self.after - ratio * self.before)
        return apart > t * sqrt(self._variance(ratio, more)) + ROUNDING * self.before

    def freedom(self, ratio: float, more: int = 0) -> float:
        """Degrees of freedom: of pairs one less than there are, else Welch's."""
        if self.paired:
            return self.count_after + more - 1
        parts = [
            (variance * count / (count + more), count + more - 1)
            for variance, count in (
                (self.variance_after, self.count_after),
                (ratio * ratio * self.variance_before, self.count_before),
            )
        ]
        whole = sum(part for part, _ in parts)
        if not whole:
            return sum(free for _, free in parts)
        return 1 / sum((part / whole) ** 2 / free for part, free in parts)

    def _variance(self, ratio: float, more: int) -> float:
        """Of `after` - ratio × `before`, were there so many more of each."""
        after = self.variance_after * self.count_after / (self.count_after + more)
        before = self.variance_before * self.count_before / (self.count_before + more)
        shared = self.covariance * self.count_after / (self.count_after + more)
        return max(0.0, after - 2 * ratio * shared + ratio * ratio * before)


def fieller(
    after: float,
    before: float,
    variance_after: float,
    variance_before: float,
    covariance: float,
    t: float,
) -> tuple[float | None, float | None]:
    """The ratios r for which `after` - r × `before` is at most `t` standard errors from 0."""
    square = t * t
    a = before * before - square * variance_before
    b = after * before - square * covariance
    c = after * after - square * variance_after
    root = sqrt(max(0.0, b * b - a * c))
    if a > 0:
        return (b - root) / a, (b + root) / a
    # The mean to divide by may be 0: no ratio is too large, and the set may be in two parts.
    if a < 0 and root:
        ends = sorted(((b - root) / a, (b + root) / a))
        if ends[0] <= 0 < ends[1] <= after / before:
            return ends[1], None
    return None, None


def fewest_more(enough: Callable[[int], bool]) -> int | None:
    """The least number of more values that is enough; None beyond the most."""
    low, high = 0, 1
    while not enough(high):
        if high == MOST:
            return None
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
