"""Quantiles of Student's t: by the continued fraction of the incomplete beta function, and where
there are many degrees of freedom by the series around the normal distribution."""

from functools import lru_cache
from math import exp, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist

MANY = 100
"""Degrees of freedom from which four terms of the series are right to six digits."""

TINY = 1e-300
PRECISION = 1e-15


@lru_cache(maxsize=1024)
def quantile(probability: float, freedom: float) -> float:
    """The value that t stays below with a probability; `freedom` need not be whole."""
    if not 0 < probability < 1:
        raise ValueError(f"probability must be between 0 and 1, not {probability}")
    if freedom <= 0:
        raise ValueError(f"freedom must be above 0, not {freedom}")
    if probability < 0.5:
        return -quantile(1 - probability, freedom)
    if freedom >= MANY:
        return _series(NormalDist().inv_cdf(probability), freedom)
    low, high = 0.0, 1.0
    while upper_tail(high, freedom) > 1 - probability:
        low, high = high, high * 2
        if high == inf:
            raise OverflowError(f"t of {freedom} degrees of freedom is beyond all numbers")
    while (middle := (low + high) / 2) not in {low, high}:
        if upper_tail(middle, freedom) > 1 - probability:
            low = middle
        else:
            high = middle
    return high


def upper_tail(t: float, freedom: float) -> float:
    """The chance of a value above `t`, which is not negative."""
    ratio = t / sqrt(freedom)
    square = ratio * ratio
    return _incomplete_beta(1 / (1 + square), square / (1 + square), freedom / 2, 0.5) / 2


def _series(z: float, freedom: float) -> float:
    """The quantile of t from that of the normal distribution (Fisher and Cornish)."""
    square = z * z
    terms = (
        (square + 1) / 4,
        ((5 * square + 16) * square + 3) / 96,
        (((3 * square + 19) * square + 17) * square - 15) / 384,
        ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) / 92_160,
    )
    return z + z * sum(term / freedom**power for power, term in enumerate(terms, start=1))


def _incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """The regularised one; `rest` is 1 - x, given apart because it may be very small."""
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    log_x = log1p(-rest) if rest < 0.5 else log(x)
    log_rest = log1p(-x) if x < 0.5 else log(rest)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log_x + b * log_rest)
    # The fraction converges quickly on one side of the mean only; the other is its mirror image.
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(rest, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction, by Lentz's method."""
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _apart(1 + step * d)
            c = _apart(1 + step / c)
            value *= c * d
        if abs(c * d - 1) < PRECISION:
            break
    return value


def _apart(value: float) -> float:
    """Never quite 0, so that it can be divided by."""
    return value if abs(value) > TINY else TINY
