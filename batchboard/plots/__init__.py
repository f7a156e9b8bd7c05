"""Plots: series of numbers → what an SVG draws. Knows nothing of Django, or of what it plots.

Across, every place is a share of the width (percent, or thousandths in a path, which is stretched);
down, it is pixels. So one drawing fits every screen, and its words keep their size.
"""

from batchboard.plots.drawing import plot
from batchboard.plots.parts import (
    AXIS,
    BODY,
    HEADROOM,
    Bars,
    Box,
    Dot,
    Line,
    Mark,
    Pause,
    Plot,
    Point,
    Series,
    Tick,
)
from batchboard.plots.ticks import DAY, clock, clock_ticks, levels, span_ticks

__all__ = [
    "AXIS",
    "BODY",
    "DAY",
    "HEADROOM",
    "Bars",
    "Box",
    "Dot",
    "Line",
    "Mark",
    "Pause",
    "Plot",
    "Point",
    "Series",
    "Tick",
    "clock",
    "clock_ticks",
    "levels",
    "plot",
    "span_ticks",
]
