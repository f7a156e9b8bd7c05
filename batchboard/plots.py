"""Plots: series of numbers → what an SVG draws. Knows nothing of Django, or of what it plots.

Across, every place is a share of the width (percent, or thousandths in a path, which is stretched);
down, it is pixels. So one drawing fits every screen, and its words keep their size.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import ceil, floor, log10

ACROSS = 1000
HEADROOM, BODY, LANE, AXIS = 26, 112, 26, 20
"""Pixels, from the top: labels, the series, the bars under them where there are any, the times."""

LETTER_SHARE = 0.9
"""A letter's width in percent of a plot of middling width: enough to keep labels apart."""

NAME_HEIGHT = 13
NUMBERS_SHOWN = 40
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600)
DAY = 86_400
LONG_STEPS = (
    7_200, 10_800, 14_400, 21_600, 43_200, DAY, 2 * DAY,
    *(weeks * 7 * DAY for weeks in (1, 2, 4, 13, 26, 52)),
)  # fmt: skip

Point = tuple[float, float | None]


@dataclass(frozen=True)
class Series:
    """A line through `points` (place, value), ordered by place; it breaks where a value is None.

    `tone` is a status of the tokens; `dashed` is for a limit, which is drawn in ink. `dotted` is
    for values that stand alone: points without a line, and without a name beside them.
    """

    name: str
    points: Sequence[Point]
    tone: str = "run"
    stepped: bool = False
    filled: bool = False
    dashed: bool = False
    dotted: bool = False


@dataclass(frozen=True)
class Pause:
    """A time in which something was taken away: hatched over the whole height."""

    start: float
    end: float
    label: str = ""


@dataclass(frozen=True)
class Mark:
    """A moment at which something happened; what a person did is drawn in ink."""

    at: float
    label: str = ""
    tone: str = "hold"


@dataclass(frozen=True)
class Bars:
    """Counts in spans of time (start, end, count), drawn under the series on a scale of theirs."""

    name: str
    spans: Sequence[tuple[float, float, float]]
    tone: str = "ok"


@dataclass(frozen=True)
class Tick:
    """A word at a place of an axis; `moment` is the UTC stamp of a place in time."""

    at: float
    label: str
    moment: str = ""


@dataclass(frozen=True)
class Dot:
    """A value that stands alone."""

    x: float
    y: float


@dataclass(frozen=True)
class Line:
    """A series as path data or as dots, and where its name stands."""

    name: str
    path: str
    area: str
    tone: str
    dashed: bool
    label_x: float
    label_y: float
    anchor: str
    dots: list[Dot] = field(default_factory=list)


@dataclass(frozen=True)
class Box:
    """A rectangle, with the words over it."""

    x: float
    width: float
    y: float = 0
    height: float = 0
    label: str = ""
    anchor: str = "start"
    label_x: float = 0
    tone: str = ""


@dataclass(frozen=True)
class Plot:
    """A drawing: `says` is what it shows, in a sentence."""

    id: str
    says: str
    height: int
    base: int
    lines: list[Line]
    across: list[Tick]
    down: list[Tick]
    pauses: list[Box] = field(default_factory=list)
    marks: list[Box] = field(default_factory=list)
    bars: list[Box] = field(default_factory=list)
    bars_name: str = ""
    bars_tone: str = ""
    lane: int = 0
    now: float | None = None
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    @property
    def ceiling(self) -> int:
        return HEADROOM

    @property
    def axis(self) -> int:
        """Where the words of the axis across stand."""
        return self.height - 5


def plot(
    id: str,
    says: str,
    series: Sequence[Series],
    *,
    start: float,
    end: float,
    across: Sequence[Tick],
    at: Callable[[float], str],
    value: Callable[[float], str] = "{:,.0f}".format,
    level: Callable[[float], str] | None = None,
    pauses: Iterable[Pause] = (),
    marks: Iterable[Mark] = (),
    bars: Bars | None = None,
    now: float | None = None,
) -> Plot:
    """Draw `series` between the places `start` and `end`.

    `across` are the ticks under the plot, in the places of the series; `at` and `value` write a
    place and a value, `level` a value of the axis where that is to be shorter. `now` draws a line
    where the present is before the end.
    """
    frame = _Frame(start, max(end, start + 1e-9), _top(series))
    base = HEADROOM + BODY
    lane = LANE if bars is not None else 0
    return Plot(
        id=id,
        says=says,
        height=base + lane + AXIS,
        base=base,
        lane=base + lane,
        lines=_spread([frame.line(one) for one in series]),
        across=[
            Tick(frame.share(tick.at), tick.label, tick.moment)
            for tick in across
            if start <= tick.at <= end
        ],
        down=[Tick(frame.y(one), (level or value)(one)) for one in levels(frame.top)],
        pauses=_apart(frame.box(p.start, p.end, p.label) for p in pauses),
        marks=_apart(frame.box(m.at, m.at, m.label, m.tone) for m in marks if start <= m.at <= end),
        bars=frame.bars(bars) if bars else [],
        bars_name=bars.name if bars else "",
        bars_tone=bars.tone if bars else "",
        now=frame.share(now) if now is not None and start <= now < end else None,
        head=[one.name for one in series],
        rows=_rows(series, at, value),
    )


def levels(top: float, about: int = 3) -> list[float]:
    """Even levels from 0 to at least `top`, in at most `about` steps of 1, 2 or 5 times a power of
    ten; whole numbers, where `top` is not under one."""
    step = _round_up(top / about)
    if top >= 1:
        step = max(1.0, step)
    return [step * n for n in range(ceil(top / step - 1e-9) + 1)]


def clock_ticks(start: float, end: float, about: int = 6) -> list[Tick]:
    """Times of day, or days, in UTC between two moments (seconds since 1970)."""
    step = _step((end - start) / about)
    return [
        Tick(at, clock(at, step), _stamp(at))
        for at in (step * n for n in range(ceil(start / step), floor(end / step) + 1))
    ]


def span_ticks(seconds: float, about: int = 6) -> list[Tick]:
    """Lengths of time from 0 to `seconds`: 0 s, 10 s, … or 0 min, 5 min, … or hours."""
    step = _step(seconds / about)
    size, unit = next(
        (size, unit) for size, unit in ((3_600, "h"), (60, "min"), (1, "s")) if step % size == 0
    )
    return [
        Tick(step * n, f"{step * n / size:,.0f} {unit}") for n in range(floor(seconds / step) + 1)
    ]


def clock(at: float, step: float = 60) -> str:
    """A moment as 10:41, as 10:41:30 where steps are short, as Jun 12 where they are days."""
    moment = datetime.fromtimestamp(at, UTC)
    if step >= DAY:
        return f"{moment:%b} {moment.day}"
    return f"{moment:%H:%M}" if step >= 60 else f"{moment:%H:%M:%S}"


class _Frame:
    """The scale of one plot: from places and values to shares and pixels."""

    def __init__(self, start: float, end: float, top: float) -> None:
        self.start, self.end = start, end
        self.top = levels(top)[-1]

    def share(self, at: float) -> float:
        return round(min(100.0, max(0.0, (at - self.start) / (self.end - self.start) * 100)), 2)

    def x(self, at: float) -> float:
        return round(self.share(at) * ACROSS / 100, 1)

    def y(self, value: float) -> float:
        return round(HEADROOM + BODY * (1 - value / self.top), 1)

    def line(self, one: Series) -> Line:
        runs = [self._run(run, one.stepped) for run in _runs(one.points)]
        base = HEADROOM + BODY
        area = "".join(f"{path}V{base}H{first}Z" for first, path in runs) if one.filled else ""
        known = [(place, value) for place, value in one.points if value is not None]
        if one.dotted:
            dots = [Dot(self.share(place), self.y(value)) for place, value in known]
            return Line(one.name, "", "", one.tone, False, 0, 0, "start", dots)
        place, value = (known[0] if one.dashed else known[-1]) if known else (self.start, 0.0)
        return Line(
            name=one.name,
            path="".join(path for _, path in runs),
            area=area,
            tone=one.tone,
            dashed=one.dashed,
            label_x=self.share(place),
            label_y=max(HEADROOM - 6, self.y(value) - 6) if one.dashed else self._inside(value),
            anchor="start" if self.share(place) < 50 else "end",
        )

    def _inside(self, value: float) -> float:
        """Under the line where there is room: over it stands the name of the limit."""
        under = self.y(value) + 16
        return under if under < HEADROOM + BODY - 4 else self.y(value) - 6

    def _run(self, points: Sequence[tuple[float, float]], stepped: bool) -> tuple[float, str]:
        (first, value), *rest = points
        path = f"M{self.x(first)} {self.y(value)}"
        for place, value in rest:
            here = f"{self.x(place)}"
            path += f"H{here}V{self.y(value)}" if stepped else f"L{here} {self.y(value)}"
        return self.x(first), path

    def box(self, start: float, end: float, label: str, tone: str = "") -> Box:
        x, width = self.share(start), round(self.share(end) - self.share(start), 2)
        late = x > 60
        return Box(
            x, width, HEADROOM, BODY, label,
            anchor="end" if late else "start", label_x=x + width if late else x, tone=tone,
        )  # fmt: skip

    def bars(self, bars: Bars) -> list[Box]:
        most = max((count for *_, count in bars.spans), default=0) or 1
        low = HEADROOM + BODY + LANE
        drawn = []
        for start, end, count in bars.spans:
            height = round(max(2.0, (LANE - 6) * count / most), 1) if count else 0
            width = self.share(end) - self.share(start)
            if height and width > 0:
                drawn.append(
                    Box(self.share(start), round(width * 0.86, 2), low - height, height)
                )  # fmt: skip
        return drawn


def _runs(points: Sequence[Point]) -> list[list[tuple[float, float]]]:
    """The stretches of points whose values are known."""
    runs: list[list[tuple[float, float]]] = [[]]
    for place, value in points:
        if value is None:
            runs.append([])
        else:
            runs[-1].append((place, value))
    return [run for run in runs if run]


def _spread(lines: list[Line]) -> list[Line]:
    """The same lines, with names that would stand on each other moved up."""
    places: dict[str, float] = {}
    for anchor in ("start", "end"):
        under = float(HEADROOM + BODY)
        for line in sorted(lines, key=lambda line: -line.label_y):
            if line.anchor == anchor and line.path:
                places[line.name] = under = min(line.label_y, under - NAME_HEIGHT)
    return [replace(line, label_y=places.get(line.name, line.label_y)) for line in lines]


def _apart(boxes: Iterable[Box]) -> list[Box]:
    """The same boxes, without the labels that would stand on another's; the latest one stays."""
    kept: list[Box] = []
    free_until = 101.0
    for box in sorted(boxes, key=lambda box: box.x, reverse=True):
        width = len(box.label) * LETTER_SHARE
        left = box.label_x - width if box.anchor == "end" else box.label_x
        if not box.label or left + width > free_until:
            kept.append(Box(box.x, box.width, box.y, box.height, tone=box.tone))
        else:
            kept.append(box)
            free_until = left - 1
    return kept[::-1]


def _rows(
    series: Sequence[Series], at: Callable[[float], str], value: Callable[[float], str]
) -> list[list[str]]:
    """The numbers as a table: at so many places, what each series was then; newest first."""
    places = sorted({place for one in series for place, _ in one.points}, reverse=True)
    every = max(1, ceil(len(places) / NUMBERS_SHOWN))
    return [
        [at(place), *(_written(_value_at(one, place), value) for one in series)]
        for place in places[::every]
    ]


def _value_at(one: Series, place: float) -> float | None:
    found = None
    for there, value in one.points:
        if there > place:
            break
        if one.dotted and there < place:
            continue
        found = value
    return found


def _written(number: float | None, value: Callable[[float], str]) -> str:
    return "–" if number is None else value(number)


def _top(series: Sequence[Series]) -> float:
    return max((v for one in series for _, v in one.points if v is not None), default=0) or 1


def _round_up(number: float) -> float:
    size = 10.0 ** floor(log10(number))
    return next(size * n for n in (1, 2, 5, 10) if size * n >= number * (1 - 1e-9))


def _step(about: float) -> int:
    return next((step for step in (*STEPS, *LONG_STEPS) if step >= about), LONG_STEPS[-1])


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
