"""Figures of a comparison in words."""

from collections.abc import Iterable
from decimal import Decimal

from batchboard.compare.data import Comparison, Interval
from batchboard.money import decimals_of
from batchboard.wording import listed, many

PERCENT = "\u202f%"


def percent(share: float, decimals: int = 0) -> str:
    return f"{share * 100:,.{decimals}f}{PERCENT}"


def change(interval: Interval[float]) -> str:
    """The size of a change that has a sign for certain, with its interval: 41 % (38–44 %).

    As many decimals as tell its ends apart.
    """
    ends = [None if end is None else abs(end) for end in (interval.low, interval.high)]
    if interval.mid < 0:
        ends.reverse()
    low, high = ends
    for decimals in range(4):
        middle = percent(abs(interval.mid), decimals)
        if not any(digit in "123456789" for digit in middle):
            continue
        if low is None or high is None or round(high - low, 12) == 0:
            break
        if percent(low, decimals) != percent(high, decimals):
            break
    if low is not None and high is not None:
        if round(high - low, 12) == 0:
            return middle
        return f"{middle} ({low * 100:,.{decimals}f}–{percent(high, decimals)})"
    if low is not None:
        return f"{middle} (at least {percent(low, decimals)})"
    return middle


def between(interval: Interval[float]) -> str:
    """A change that may have either sign: between 3 % less and 2 % more."""
    if interval.low is None or interval.high is None:
        return "anything"
    decimals = 0 if interval.high - interval.low >= 0.02 else 1
    low, high = _signed(interval.low, decimals), _signed(interval.high, decimals)
    return low if low == high else f"between {low} and {high}"


def usd(amount: Decimal, beside: Iterable[Decimal] = ()) -> str:
    """Dollars of one task, with as many decimals as those that are read `beside` it."""
    return f"${amount:,.{decimals_of([amount, *beside])}f}" if amount else "$0"


def tokens(number: float) -> str:
    """Tokens as an estimate of many: three digits that say something."""
    if number < 1_000:
        return f"{number:,.0f}"
    step = 10 ** (len(str(int(number))) - 3)
    return f"{round(number / step) * step:,}"


def under_way(found: Comparison) -> list[str]:
    """What each arm leaves out because it has not ended."""
    said = []
    for arm in (one.data for one in (found.before, *found.arms)):
        if arm.under_way:
            batches = many(arm.under_way, "batch is", "batches are")
            said.append(f"{arm.label}: {batches} still under way, and not counted yet.")
        if arm.left:
            items = many(arm.left, "item has not ended, and is", "items have not ended, and are")
            said.append(f"{arm.label}: {items} not counted yet.")
    return said


def simulated(found: Comparison) -> str:
    """That money of the arms is not real, where that is so."""
    arms = [one.data for one in (found.before, *found.arms)]
    labels = [arm.label for arm in arms if arm.simulated]
    if not labels:
        return ""
    if len(labels) == len(arms):
        return "Measured at the simulated provider: no real money."
    return f"{listed(labels)} measured at the simulated provider: no real money, nor a fair match."


def sentences(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _signed(share: float, decimals: int) -> str:
    text = percent(abs(share), decimals)
    if not any(digit in "123456789" for digit in text):
        return "no change"
    return f"{text} {'less' if share < 0 else 'more'}"
