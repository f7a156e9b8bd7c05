"""Figures as people read them: money, counts, shares, times."""

from datetime import UTC, datetime
from decimal import Decimal

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from batchboard.money import decimals_of

register = template.Library()

UNKNOWN = "–"
NARROW_SPACE = "\u202f"
FIGURE_SPACE, PUNCTUATION_SPACE = "\u2007", "\u2008"
CENT, TENTH_OF_A_CENT = Decimal("0.01"), Decimal("0.001")
MOST_DECIMALS = 9
MINUTE, HOUR, DAY = 60, 3_600, 86_400


@register.filter
def usd(amount: Decimal | None) -> str:
    """Dollars and cents; under a cent, three digits that say something."""
    if amount is None:
        return UNKNOWN
    if 0 < amount < CENT:
        return _few(amount, 4 if amount >= TENTH_OF_A_CENT else 2 - amount.adjusted())
    return f"${amount:,.2f}"


@register.filter
def usd_per_task(amount: Decimal | None, decimals: int | None = None) -> str:
    """Dollars of one task: $0.0106, and three digits that say something below. In a column all
    have the same `decimals`, see `money.decimals_of`."""
    if amount is None:
        return UNKNOWN
    if not amount:
        return "$0"
    return _few(amount, decimals_of([amount]) if decimals is None else decimals)


def _few(amount: Decimal, decimals: int) -> str:
    """Dollars with so many decimals, where these show anything of it."""
    text = f"${amount:,.{min(decimals, MOST_DECIMALS)}f}"
    return text if any(digit in "123456789" for digit in text) else "under $0.000001"


@register.filter
def usd_per_million(amount: Decimal) -> str:
    """Dollars of a million tokens, exactly: two decimals, more where a price list has them."""
    text = f"{amount:,.4f}"
    return f"${text[:-2]}{text[-2:].rstrip('0')}"


@register.filter
def count(number: int | None) -> str:
    """A whole number with its thousands apart; unknown is not 0."""
    return UNKNOWN if number is None else f"{number:,}"


@register.filter
def spaces_to(number: int, most: int) -> str:
    """Spaces as wide as the digits that `number` has fewer than `most`, so that nothing beside a
    figure moves while it changes."""
    lacking = f"{most:,}"[: max(0, len(f"{most:,}") - len(f"{number:,}"))]
    return "".join(PUNCTUATION_SPACE if mark == "," else FIGURE_SPACE for mark in lacking)


@register.filter
def compact(number: int | None) -> str:
    """A whole number in short where it is large: 6,434, 1.60M."""
    if number is None:
        return UNKNOWN
    for size, letter in ((10**9, "G"), (10**6, "M")):
        if number >= size:
            return f"{number / size:.2f}{letter}"
    return f"{number:,}"


@register.filter
def share(part: float | None) -> str:
    """A share as a whole percentage, with a space that does not break."""
    return UNKNOWN if part is None else f"{part * 100:.0f}{NARROW_SPACE}%"


@register.filter
def share_fine(part: float | None) -> str:
    """A share that is often small, to a tenth of a percent: 4.0 %."""
    return UNKNOWN if part is None else f"{part * 100:.1f}{NARROW_SPACE}%"


@register.filter
def span(seconds: float | None) -> str:
    """A length of time: 9.8 s, 1 min 12 s, 2 h 5 min, 3 d 4 h."""
    if seconds is None:
        return UNKNOWN
    if seconds < MINUTE:
        return f"{seconds:.1f} s" if seconds < 59.95 else "1 min"
    whole = round(seconds)
    for large, small, large_unit, small_unit in (
        (DAY, HOUR, "d", "h"),
        (HOUR, MINUTE, "h", "min"),
        (MINUTE, 1, "min", "s"),
    ):
        if whole >= large:
            rest = whole % large // small
            head = f"{whole // large} {large_unit}"
            return f"{head} {rest} {small_unit}" if rest else head
    raise AssertionError(seconds)


@register.filter
def forecast(seconds: float | None) -> str:
    """A length of time that nobody knows exactly: ~20 s, ~4 min."""
    if seconds is None:
        return UNKNOWN
    if seconds < MINUTE:
        return f"~{max(1, round(seconds))} s"
    if seconds < HOUR:
        return f"~{round(seconds / MINUTE)} min"
    return f"~{span(seconds)}"


@register.filter
def milliseconds(amount: int | None) -> str:
    return span(None if amount is None else amount / 1000)


@register.simple_tag
def ago(moment: datetime | None, words: str = "ago") -> str | SafeString:
    """How long ago, in an element that the browser keeps true; with no `words`, just how long."""
    if moment is None:
        return UNKNOWN
    return _ticking("ago" if words else "age", moment, elapsed(moment, words))


@register.simple_tag
def left(moment: datetime | None) -> str | SafeString:
    """How long until a moment, in an element that the browser counts down."""
    if moment is None:
        return UNKNOWN
    seconds = max(0.0, (moment - timezone.now()).total_seconds())
    return _ticking("left", moment, whole_span(seconds))


def elapsed(moment: datetime, words: str = "ago") -> str:
    """40 s ago for an hour, then 10:41, then Jun 12."""
    now = timezone.now()
    seconds = max(0.0, (now - moment).total_seconds())
    if seconds < HOUR:
        return f"{whole_span(seconds)} {words}".rstrip()
    local = timezone.localtime(moment)
    if seconds < DAY and local.date() == timezone.localdate(now):
        return f"{local:%H:%M}"
    return f"{local:%b} {local.day}"


def whole_span(seconds: float) -> str:
    """Whole seconds under a minute, whole minutes under an hour, then hours and minutes."""
    if seconds < MINUTE:
        return f"{int(seconds)} s"
    if seconds < HOUR:
        return f"{int(seconds // MINUTE)} min"
    return span(seconds // MINUTE * MINUTE)


def _ticking(kind: str, moment: datetime, text: str) -> SafeString:
    stamp = moment.astimezone(UTC).isoformat(timespec="seconds")
    return format_html('<time datetime="{}" data-ticks="{}">{}</time>', stamp, kind, text)
