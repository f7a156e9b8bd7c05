"""The scale of one plot: from places and values to shares of the width and pixels."""

from collections.abc import Sequence

from batchboard.plots.parts import BODY, HEADROOM, LANE, Bars, Box, Dot, Line, Point, Series
from batchboard.plots.ticks import levels

ACROSS = 1000


class Frame:
    """Places what lies between `start` and `end`, and between 0 and `top`."""

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
