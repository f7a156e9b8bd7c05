"""What a plot is made of: what is given to be drawn, and what is drawn of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

HEADROOM, BODY, LANE, AXIS = 32, 112, 26, 20
"""Pixels, from the top: labels, the series, the bars under them where there are any, the times."""

LANE_NAME = 10.0
"""Percent of the width that the name of the bars takes."""

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
    def bars_anchor(self) -> str:
        """The end of the lane at which its name stands: the left one, where bars leave it room."""
        left = any(bar.x < LANE_NAME for bar in self.bars)
        right = any(bar.x + bar.width > 100 - LANE_NAME for bar in self.bars)
        return "end" if left and not right else "start"

    @property
    def axis(self) -> int:
        """Where the words of the axis across stand."""
        return self.height - 5
