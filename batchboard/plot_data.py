"""What the plots of a batch are drawn from: attempts counted in spans of time. Arithmetic alone.

Times are seconds since the batch began. Spans are `width` wide, and twice as wide as soon as there
would be too many, so that a run of a minute and one of a week take the same room.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import accumulate

FINEST_SECONDS = 0.125
MOST_SPANS = 300
MOST_BARS = 48
LATENCY_STEP = 0.1
"""Seconds; latencies are counted this finely."""

LATENCY_BARS = 60


@dataclass(frozen=True)
class Counted:
    """So many attempts that began and ended in the same spans: how many were answered well, and
    what they cost (units)."""

    began: int
    ended: int
    number: int
    good: int
    cost: int


@dataclass
class Course:
    """The course of a batch: per span, attempts that began, that ended, results, and money."""

    width: float = FINEST_SECONDS
    began: Counter[int] = field(default_factory=Counter)
    ended: Counter[int] = field(default_factory=Counter)
    good: Counter[int] = field(default_factory=Counter)
    cost: Counter[int] = field(default_factory=Counter)

    def add(self, rows: Iterable[Counted]) -> None:
        """Take in what was counted in spans of this width."""
        for row in rows:
            self.began[row.began] += row.number
            self.ended[row.ended] += row.number
            self.good[row.ended] += row.good
            self.cost[row.ended] += row.cost

    def widen(self, seconds: float) -> None:
        """Let spans be wide enough for a course of so many seconds."""
        width = width_for(seconds)
        if width <= self.width:
            return
        factor = round(width / self.width)
        for name in ("began", "ended", "good", "cost"):
            wider: Counter[int] = Counter()
            for span, number in getattr(self, name).items():
                wider[span // factor] += number
            setattr(self, name, wider)
        self.width = width

    def copy(self) -> "Course":
        return Course(
            self.width,
            Counter(self.began),
            Counter(self.ended),
            Counter(self.good),
            Counter(self.cost),
        )

    def in_flight(self, until: float) -> list[tuple[float, float | None]]:
        """How many attempts were in flight at the end of each span."""
        last = self._last(until)
        change = [self.began[n] - self.ended[n] for n in range(last + 1)]
        levels = [max(0, level) for level in accumulate(change)]
        points: list[tuple[float, float | None]] = [(0.0, 0.0)]
        for span, level in enumerate(levels):
            if level != points[-1][1]:
                points.append((min(until, (span + 1) * self.width), float(level)))
        points.append((until, float(levels[-1])))
        return points

    def spent(self, until: float, units: int) -> list[tuple[float, float | None]]:
        """Money spent by the end of each span, in `units`."""
        last = self._last(until)
        sums = accumulate(self.cost[n] for n in range(last + 1))
        points: list[tuple[float, float | None]] = [(0.0, 0.0)]
        return points + [
            (min(until, (span + 1) * self.width), total / units) for span, total in enumerate(sums)
        ]

    def results(self, until: float) -> list[tuple[float, float, float]]:
        """Results in a few even spans (start, end, count)."""
        last = self._last(until)
        together = max(1, -(-(last + 1) // MOST_BARS))
        bars: Counter[int] = Counter()
        for span, number in self.good.items():
            if number:
                bars[span // together] += number
        wide = together * self.width
        return [(n * wide, (n + 1) * wide, float(number)) for n, number in sorted(bars.items())]

    def _last(self, until: float) -> int:
        ends = max((*self.ended, *self.began), default=0)
        return max(0, min(int(until / self.width), max(ends, int(until / self.width))))


def width_for(seconds: float) -> float:
    """Seconds of a span of a course that is so many seconds long."""
    width = FINEST_SECONDS
    while seconds / width > MOST_SPANS:
        width *= 2
    return width


@dataclass(frozen=True)
class Latencies:
    """How many attempts took how long: bars of even width, the middle, and the slow end."""

    points: list[tuple[float, float | None]]
    number: int
    median: float
    slow: float
    end: float


def latencies(counts: dict[int, int]) -> Latencies | None:
    """`counts` are attempts by latency in steps of `LATENCY_STEP`; None without any."""
    number = sum(counts.values())
    if not number:
        return None
    slowest = max(counts)
    together = max(1, -(-(slowest + 1) // LATENCY_BARS))
    bars: Counter[int] = Counter()
    for step, count in counts.items():
        bars[step // together] += count
    wide = together * LATENCY_STEP
    last = max(bars) + 1
    points: list[tuple[float, float | None]] = [(n * wide, float(bars[n])) for n in range(last)]
    points.append((last * wide, 0.0))
    return Latencies(
        points, number, _quantile(counts, number, 0.5), _quantile(counts, number, 0.95), last * wide
    )


def _quantile(counts: dict[int, int], number: int, share: float) -> float:
    seen = 0
    for step in sorted(counts):
        seen += counts[step]
        if seen >= share * number:
            return (step + 0.5) * LATENCY_STEP
    raise AssertionError(counts)


def lanes(spans: Sequence[tuple[float, float]]) -> list[int]:
    """A lane for each span of time (start, end), ordered by start, so that none overlap: the
    lowest that is free, as slots are."""
    taken: list[tuple[float, int]] = []
    free: list[int] = []
    found = []
    opened = 0
    for start, end in spans:
        while taken and taken[0][0] <= start:
            heappush(free, heappop(taken)[1])
        if free:
            lane = heappop(free)
        else:
            lane, opened = opened, opened + 1
        found.append(lane)
        heappush(taken, (end, lane))
    return found


def wave_starts(spans: Sequence[tuple[float, float]]) -> list[float]:
    """Where a wave began: a start at which nothing before was in flight any more."""
    found = []
    reached = float("-inf")
    for start, end in spans:
        if start >= reached:
            found.append(start)
        reached = max(reached, end)
    return found
