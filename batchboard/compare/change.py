"""How the cost per task changed: the costs of two arms held against each other."""

from dataclasses import dataclass
from math import ceil, log10

from batchboard.compare.data import ArmData, Interval
from batchboard.compare.pairing import KNOWN, PairSums
from batchboard.compare.ratio import Ratio, fewest_more
from batchboard.compare.spread import Spread

FEWEST = 5
"""Items with a result that each arm needs before anything is said of them."""

SMALL = 0.05
"""A change that is for certain no larger than this counts as no difference."""

LARGEST_WISH = 10_000
"""Nobody is asked for more further items than this."""


@dataclass(frozen=True)
class Change:
    """The ratio of costs per task, and the same with unknown costs taken for nothing in the arm or
    in the measure: what is said of it has to hold either way."""

    ratio: Ratio
    least: Ratio
    most: Ratio
    confidence: float
    items: int

    @property
    def interval(self) -> Interval[float]:
        """As a share: -0.41 is 41 % less."""
        found = self.ratio.interval(self.confidence)
        low, high = (None if end is None else end - 1 for end in (found.low, found.high))
        return Interval(low, found.mid - 1, high)

    @property
    def sign(self) -> int:
        """-1 for cheaper, 1 for dearer, where that is certain whatever unknown costs were, and no
        end of the interval says otherwise; or 0."""
        if self.items < FEWEST:
            return 0
        low, high = self.interval.low, self.interval.high
        if self.most.ratio < 1 and self.most.refuses(1, self.confidence):
            return -1 if high is not None and high < 0 else 0
        if self.least.ratio > 1 and self.least.refuses(1, self.confidence):
            return 1 if low is not None and low > 0 else 0
        return 0

    @property
    def depends(self) -> bool:
        """Whether a difference would be certain with unknown costs taken one way, and is not with
        them taken another."""
        ways = (self.ratio, self.least, self.most)
        certain = any(way.refuses(1, self.confidence) for way in ways)
        differ = self.least.ratio < self.most.ratio
        return self.items >= FEWEST and differ and not self.sign and certain

    @property
    def small(self) -> bool:
        """Whether any difference there is, is small for certain."""
        return self.items >= FEWEST and _small(self.most, self) and _small(self.least, self)

    def more_needed(self) -> int | None:
        """About how many more items, of each arm, would show a difference as large as that
        observed, or that any is small; None where that is too many to ask for."""

        def enough(more: int) -> bool:
            if self.items + more < FEWEST:
                return False
            return self.ratio.refuses(1, self.confidence, more) or _small(self.ratio, self, more)

        found = fewest_more(enough)
        return None if found is None or found > LARGEST_WISH else _rounded_up(found)


def measure_change(
    before: ArmData, after: ArmData, confidence: float, pair: PairSums | None = None
) -> Change | None:
    """None where there are too few items to say anything, or none of them cost anything. With
    `pair`, the sums of what both did, items are held against themselves."""
    if pair is not None:
        return _paired(pair, confidence)
    items = min(before.succeeded, after.succeeded)
    if items < 2:
        return None
    one, other = before.costs, after.costs
    return _change(
        _ratio(other, one),
        _ratio(other.known, one),
        _ratio(other, one.known),
        confidence,
        items,
    )


def cost_per_task(costs: Spread, confidence: float = 0.95) -> Interval[float] | None:
    """Units of money for each item that succeeded, those of the others included; None where none
    did. Both vary from item to item: Fieller's interval of a ratio, within each item a pair."""
    succeeded, every = costs.ok.count, costs.all
    if not succeeded:
        return None
    if every.count < 2:
        return Interval(None, every.mean, None)
    share = succeeded / every.count
    degrees = every.count * (every.count - 1)
    found = Ratio(
        after=every.mean,
        before=share,
        variance_after=every.strayed / degrees,
        variance_before=every.count * share * (1 - share) / degrees,
        count_after=every.count,
        count_before=every.count,
        paired=True,
        covariance=succeeded * (costs.ok.mean - every.mean) / degrees,
    ).interval(confidence)
    return Interval(None if found.low is None else max(0.0, found.low), found.mid, found.high)


def _paired(pair: PairSums, confidence: float) -> Change | None:
    items = pair.succeeded
    if items < 2:
        return None
    return _change(
        pair.ratio(),
        pair.ratio(after=KNOWN),
        pair.ratio(before=KNOWN),
        confidence,
        items,
    )


def _change(
    ratio: Ratio, least: Ratio, most: Ratio, confidence: float, items: int
) -> Change | None:
    if min(ratio.before, least.before, most.before) <= 0:
        return None
    return Change(ratio, least, most, confidence, items)


def _ratio(after: Spread, before: Spread) -> Ratio:
    (mean, variance), (mean_before, variance_before) = after.per_success(), before.per_success()
    counts = (after.all.count, before.all.count)
    return Ratio(mean, mean_before, variance, variance_before, *counts, paired=False)


def _small(ratio: Ratio, change: Change, more: int = 0) -> bool:
    low, high = 1 - SMALL, 1 + SMALL
    return low < ratio.ratio < high and all(
        ratio.refuses(end, change.confidence, more) for end in (low, high)
    )


def _rounded_up(number: int) -> int:
    """To two digits, and from 20 on to whole tens: nobody knows it better than about."""
    if number < 20:
        return number
    step = max(10, int(10 ** (int(log10(number)) - 1)))
    return ceil(number / step) * step
