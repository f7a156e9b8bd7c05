"""Words of the pages of what things cost: amounts, changes, and how a verdict looks."""

from collections.abc import Sequence
from decimal import Decimal

from batchboard.compare import Interval, Verdict, words
from batchboard.templatetags.figures import usd_per_task

MINUS = "−"
LOOKS = {
    Verdict.MEASURE: ("wait", "scales"),
    Verdict.BETTER: ("ok", "check"),
    Verdict.CHEAPER: ("person", "eye"),
    Verdict.NOT_BETTER: ("person", "flag"),
    Verdict.WORSE: ("dead", "cross"),
    Verdict.NO_DIFFERENCE: ("wait", "dot"),
    Verdict.UNDECIDED: ("wait", "clock"),
}
"""A status of the page's colours, and an icon, for each verdict."""

ADVICE = {
    "keep": ("ok", "check"),
    "avoid": ("person", "flag"),
    "review": ("person", "eye"),
    "more": ("wait", "plus"),
}
OTHER_ADVICE = ("wait", "clock")


def per_task(amount: float, decimals: int | None = None) -> str:
    """A plotted number of dollars for one task."""
    return usd_per_task(Decimal(str(round(amount, 10))), decimals)


def on_axis(amounts: Sequence[float]) -> list[str]:
    """Round numbers of dollars as short as they can be, with the same decimals: $0, $0.0005,
    $0.0010."""
    texts = [f"{amount:.9f}".rstrip("0").partition(".")[2] for amount in amounts]
    decimals = max(map(len, texts), default=0)
    decimals = max(2, decimals) if decimals else 0
    return [f"${amount:,.{decimals}f}" if amount else "$0" for amount in amounts]


def change_words(change: Interval[float] | None, *, interval: bool = True) -> str:
    """−51 % (48–54 %); with a sign at both ends where neither is certain; – where unknown."""
    if change is None:
        return "–"
    low, high = change.low, change.high
    if not interval or low is None or high is None or low <= 0 <= high:
        mid = _signed(change.mid)
        if not interval or low is None or high is None:
            return mid
        low = max(low, -1.0)  # nothing costs less than nothing
        return f"{mid} ({_signed(low).removesuffix(words.PERCENT)} to {_signed(high)})"
    return f"{MINUS if change.mid < 0 else '+'}{words.change(change)}"


def _signed(share: float) -> str:
    number = round(share * 100)
    sign = MINUS if number < 0 else "+" if number > 0 else ""
    return f"{sign}{words.percent(abs(number) / 100)}"
