"""Confidence intervals of means, shares, ratios and differences."""

from collections.abc import Sequence

from batchboard.compare.data import Interval


def mean(values: Sequence[float], confidence: float = 0.95) -> Interval[float]:
    """The mean of `values` with Student's interval; no bounds for a single value."""
    raise NotImplementedError


def share(part: int, whole: int, confidence: float = 0.95) -> Interval[float]:
    """A share with Wilson's interval; `whole` is at least 1."""
    raise NotImplementedError


def difference_of_shares(
    part: int, whole: int, part_before: int, whole_before: int, confidence: float = 0.95
) -> Interval[float]:
    """How much larger a share is than that before, with Newcombe's interval."""
    raise NotImplementedError


def ratio_of_means(
    after: Sequence[float], before: Sequence[float], *, paired: bool, confidence: float = 0.95
) -> Interval[float]:
    """The mean of `after` over that of `before`, with Fieller's interval."""
    raise NotImplementedError
