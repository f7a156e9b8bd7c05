"""Words of the pages of what things cost: amounts, changes, and how a verdict looks."""

from decimal import Decimal

from batchboard.compare import Interval, Verdict
from batchboard.templatetags.figures import NARROW_SPACE, usd_per_task

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


def per_task(amount: float) -> str:
    """A plotted number of dollars for one task."""
    return usd_per_task(Decimal(str(round(amount, 10))))


def on_axis(amount: float) -> str:
    """A round number of dollars as short as it can be: $0.02, $0.0005."""
    text = f"{amount:.9f}".rstrip("0")
    whole, _, rest = text.partition(".")
    return f"${whole}.{rest:0<2}" if rest else f"${whole}"


def change_words(change: Interval[float] | None, *, interval: bool = True) -> str:
    """−51 % (48–54 %); both ends carry their signs where they differ, or where it rose and fell
    are both possible; – where nothing is known."""
    if change is None:
        return "–"
    mid = _signed(change.mid)
    if not interval or change.low is None or change.high is None:
        return mid
    if change.low < 0 < change.high:
        return f"{mid} ({_signed(change.low, unit=False)} to {_signed(change.high)})"
    near, far = sorted((abs(change.low), abs(change.high)))
    return f"{mid} ({near * 100:.0f}–{far * 100:.0f}{NARROW_SPACE}%)"


def _signed(share: float, *, unit: bool = True) -> str:
    number = round(share * 100)
    sign = MINUS if number < 0 else "+" if number > 0 else ""
    return f"{sign}{abs(number):,}{f'{NARROW_SPACE}%' if unit else ''}"
