"""Plots that have a row for each thing compared: intervals, and stacked bars.

As in `batchboard.plots`, places across are percentages and places down are pixels. Knows nothing
of Django, or of what it plots.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from batchboard.plots import Tick, levels

ROW, HEADROOM, AXIS = 40, 8, 26
"""Pixels: a row's height, what is over the first row, the words under the last."""

STEPS = 6
ROOM_FOR_NOTE = 27.0
"""Percent of the width that a note such as “−51 % (48–54 %)” takes on a plot of middling width."""

GAP = 2.0
BARS_END = 82.0
"""Percent of the width that the longest bar takes: its total stands behind it."""

WIDEST = 2.5
"""An interval that ends beyond so many times the largest value runs out of the plot."""

ROOM_FOR_NUMBER = 16.0


@dataclass(frozen=True)
class Spread:
    """A value with its interval, whose ends are None where the data give none; `value` and `note`
    are its words, `tone` a status of the tokens.

    With `shaded` the way from the reference to the value is tinted.
    """

    label: str
    low: float | None
    mid: float
    high: float | None
    value: str
    tone: str = "wait"
    note: str = ""
    strong: bool = False
    shaded: bool = False


@dataclass(frozen=True)
class Note:
    """Words in the plot."""

    text: str
    x: float
    anchor: str


@dataclass(frozen=True)
class Whisker:
    """A spread as drawn; an end that lies outside of the plot has no cap."""

    label: str
    y: int
    low: float
    mid: float
    high: float
    value: str
    tone: str
    strong: bool
    ends_left: bool
    ends_right: bool
    note: Note | None = None
    shade: tuple[float, float] | None = None


@dataclass(frozen=True)
class Whiskers:
    """A drawing of intervals; `says` is what it shows, in a sentence."""

    id: str
    says: str
    height: int
    base: int
    rows_drawn: list[Whisker]
    across: list[Tick]
    reference: float
    rows_are: str
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    @property
    def axis(self) -> int:
        return self.height - 5


@dataclass(frozen=True)
class Stack:
    """Numbers of one thing by kind, in the order of the kinds."""

    label: str
    parts: Sequence[float]
    strong: bool = False


@dataclass(frozen=True)
class Segment:
    """One kind's part of a bar, with its number where there is room for it."""

    kind: str
    x: float
    width: float
    number: str = ""


@dataclass(frozen=True)
class StackedBar:
    label: str
    y: int
    end: float
    total: str
    strong: bool
    segments: list[Segment]


@dataclass(frozen=True)
class Stacks:
    """A drawing of stacked bars; `kinds` are pairs of a name and its words."""

    id: str
    says: str
    height: int
    bars: list[StackedBar]
    kinds: Sequence[tuple[str, str]]
    rows_are: str
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


def whiskers(
    id: str,
    says: str,
    spreads: Sequence[Spread],
    *,
    value: Callable[[float], str],
    axis: Callable[[Sequence[float]], Sequence[str]] | None = None,
    rows_are: str = "",
    names: tuple[str, str, str] = ("from", "mean", "to"),
) -> Whiskers:
    """Draw `spreads` under each other, on a scale from 0; the first one is the reference.

    `value` writes a value in the table of numbers, `axis` all values of the
    axis, where these are to be shorter.
    """
    most = max((one.mid for one in spreads), default=0.0) or 1.0
    highest = max((max(one.mid, one.high or 0.0) for one in spreads), default=0.0) or 1.0
    top = min(highest, most * WIDEST)
    ticks = levels(top, STEPS)
    end = ticks[-1]
    base = HEADROOM + ROW * len(spreads)
    reference = _share(spreads[0].mid, end) if spreads else 0.0
    return Whiskers(
        id=id,
        says=says,
        height=base + AXIS,
        base=base,
        rows_drawn=[
            _whisker(one, HEADROOM + ROW * n + ROW // 2, reference, end)
            for n, one in enumerate(spreads)
        ],
        across=[
            Tick(_share(at, end), words)
            for at, words in zip(ticks, axis(ticks) if axis else map(value, ticks), strict=True)
        ],
        reference=reference,
        rows_are=rows_are,
        head=list(names),
        rows=[
            [one.label, *("–" if n is None else value(n) for n in (one.low, one.mid, one.high))]
            for one in spreads
        ],
    )


def stacks(
    id: str,
    says: str,
    given: Sequence[Stack],
    kinds: Sequence[tuple[str, str]],
    *,
    rows_are: str = "",
    number: Callable[[float], str] = "{:,.0f}".format,
) -> Stacks:
    """Draw a bar for each of `given`, its parts in the order of `kinds`."""
    most = max((sum(one.parts) for one in given), default=0.0) or 1.0
    return Stacks(
        id=id,
        says=says,
        height=HEADROOM + ROW * len(given),
        bars=[
            _bar(one, HEADROOM + ROW * n + ROW // 2, kinds, most, number)
            for n, one in enumerate(given)
        ],
        kinds=kinds,
        rows_are=rows_are,
        head=[*(words for _, words in kinds), "in all"],
        rows=[
            [one.label, *(number(part) for part in one.parts), number(sum(one.parts))]
            for one in given
        ],
    )


def _whisker(one: Spread, y: int, reference: float, end: float) -> Whisker:
    low = 0.0 if one.low is None else _share(one.low, end)
    high = 100.0 if one.high is None else _share(one.high, end)
    mid = _share(one.mid, end)
    shade = None
    if one.shaded and mid != reference:
        shade = (min(mid, reference), round(abs(reference - mid), 2))
    return Whisker(
        label=one.label,
        y=y,
        low=low,
        mid=mid,
        high=high,
        value=one.value,
        tone=one.tone,
        strong=one.strong,
        ends_left=one.low is not None and one.low >= 0,
        ends_right=one.high is not None and one.high <= end,
        note=_note(one.note, low, high, reference) if one.note else None,
        shade=shade,
    )


def _note(text: str, low: float, high: float, reference: float) -> Note:
    """Between the interval and the reference where there is room, else outside of both."""
    if reference - high >= ROOM_FOR_NOTE + GAP:
        return Note(text, round(reference - GAP, 2), "end")
    if low - reference >= ROOM_FOR_NOTE + GAP:
        return Note(text, round(reference + GAP, 2), "start")
    right, left = max(high, reference), min(low, reference)
    if 100 - right >= left:
        return Note(text, round(right + GAP, 2), "start")
    return Note(text, round(left - GAP, 2), "end")


def _bar(
    one: Stack,
    y: int,
    kinds: Sequence[tuple[str, str]],
    most: float,
    number: Callable[[float], str],
) -> StackedBar:
    segments: list[Segment] = []
    x = 0.0
    largest = max(one.parts, default=0.0)
    for (kind, _), part in zip(kinds, one.parts, strict=True):
        width = part / most * BARS_END
        # The first and the largest: a number in another would only repeat the table.
        shown = not segments and part == largest and width >= ROOM_FOR_NUMBER
        if width:
            words = number(part) if shown else ""
            segments.append(Segment(kind, round(x, 2), round(width, 2), words))
        x += width
    return StackedBar(one.label, y, round(x, 2), number(sum(one.parts)), one.strong, segments)


def _share(value: float, end: float) -> float:
    return round(min(100.0, max(0.0, value / end * 100)), 2)
