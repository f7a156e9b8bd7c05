"""Stacked bars of days: amounts → what an SVG draws. Knows nothing of Django, or of what it stacks.

Places across are percentages of the width and down pixels, as in `batchboard.plots`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from math import ceil

from batchboard.plots import AXIS, BODY, HEADROOM, Box, Tick, levels

MOST_BARS = 100
STEPS = (1, 7, 28, 91, 364)
GAP = 0.18
"""Of a bar's place, left free."""

LEAST = 1.0
"""Pixels of an amount that is not nothing."""


@dataclass(frozen=True)
class Layer:
    """One layer of every bar; `kind` names its look. What is not in `amounts` is nothing."""

    name: str
    kind: str
    amounts: Mapping[date, float]


@dataclass(frozen=True)
class Piece:
    """A layer's part of one bar."""

    box: Box
    kind: str


@dataclass(frozen=True)
class DayBars:
    """A drawing: `says` is what it shows, in a sentence, `days` how many one bar holds."""

    id: str
    says: str
    days: int
    pieces: list[Piece]
    names: list[tuple[str, str]]
    across: list[Tick]
    down: list[Tick]
    height: int = HEADROOM + BODY + AXIS
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    @property
    def axis(self) -> int:
        return self.height - 5


def day_bars(
    id: str,
    says: str,
    layers: Sequence[Layer],
    *,
    since: date,
    until: date,
    value: Callable[[float], str],
    about: int = 7,
) -> DayBars:
    """Draw the `layers` from the first to the last day, the first of them at the foot. Many days
    share a bar, so that none is too thin to be seen."""
    days = (until - since).days + 1
    step = next((step for step in STEPS if days <= MOST_BARS * step), STEPS[-1])
    starts = [since + timedelta(days=n) for n in range(0, days, step)]
    folded = [_folded(layer, since, step, len(starts)) for layer in layers]
    scale = levels(max(map(sum, zip(*folded, strict=True)), default=0) or 1e-6)
    top = scale[-1]
    place = 100 / len(starts)
    pieces = []
    for number in range(len(starts)):
        foot = float(HEADROOM + BODY)
        for layer, amounts in zip(layers, folded, strict=True):
            if amounts[number]:
                height = round(max(LEAST, BODY * amounts[number] / top), 1)
                foot = round(foot - height, 1)
                x, width = place * (number + GAP / 2), place * (1 - GAP)
                box = Box(round(x, 2), round(width, 2), foot, height)
                pieces.append(Piece(box, layer.kind))
    every = max(1, ceil(len(starts) / about))
    return DayBars(
        id=id,
        says=says,
        days=step,
        pieces=pieces,
        names=[(layer.name, layer.kind) for layer in layers],
        across=[
            Tick(round(place * (number + 0.5), 2), _written(starts[number]))
            for number in range(every // 2, len(starts), every)
        ],
        down=[Tick(HEADROOM + BODY * (1 - level / top), value(level)) for level in scale],
        head=[layer.name for layer in layers],
        rows=[
            [_written(starts[n]), *(value(amounts[n]) for amounts in folded)]
            for n in reversed(range(len(starts)))
            if any(amounts[n] for amounts in folded)
        ],
    )


def _folded(layer: Layer, since: date, step: int, bars: int) -> list[float]:
    sums = [0.0] * bars
    for day, amount in layer.amounts.items():
        sums[(day - since).days // step] += amount
    return sums


def _written(day: date) -> str:
    return f"{day:%b} {day.day}"
