"""Confidence intervals of means, shares and differences of shares."""

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist

from batchboard.compare.data import Interval
from batchboard.compare.student import quantile


def mean(values: Sequence[float], confidence: float = 0.95) -> Interval[float]:
    """The mean of `values` with Student's interval; no bounds for a single value."""
    count = len(values)
    if not count:
        raise ValueError("There is no mean of nothing.")
    middle = sum(values) / count
    if count == 1:
        return Interval(None, middle, None)
    spread = sum((value - middle) ** 2 for value in values) / (count - 1)
    reach = quantile((1 + confidence) / 2, count - 1) * sqrt(spread / count)
    return Interval(middle - reach, middle, middle + reach)


def share(part: int, whole: int, confidence: float = 0.95) -> Interval[float]:
    """A share with Wilson's interval; `whole` is at least 1."""
    if not 0 <= part <= whole or not whole:
        raise ValueError(f"{part} of {whole} is not a share.")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    found = part / whole
    middle = (part + z * z / 2) / (whole + z * z)
    reach = z * sqrt(whole * found * (1 - found) + z * z / 4) / (whole + z * z)
    low = 0.0 if part == 0 else middle - reach
    high = 1.0 if part == whole else middle + reach
    return Interval(low, found, high)


def difference_of_shares(
    part: int, whole: int, part_before: int, whole_before: int, confidence: float = 0.95
) -> Interval[float]:
    """How much larger a share is than that before, with Newcombe's interval of two independent
    shares (his method 10). Of paired items it is on the wide side."""
    after, before = share(part, whole, confidence), share(part_before, whole_before, confidence)
    found = after.mid - before.mid
    return Interval(
        found - sqrt(_square(after.mid, after.low) + _square(before.mid, before.high)),
        found,
        found + sqrt(_square(after.mid, after.high) + _square(before.mid, before.low)),
    )


def _square(middle: float, bound: float | None) -> float:
    return 0.0 if bound is None else (middle - bound) ** 2
