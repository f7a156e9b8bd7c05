"""From series to the drawing of them."""

from collections.abc import Callable, Iterable, Sequence

from batchboard.plots.apart import apart, spread
from batchboard.plots.frame import Frame
from batchboard.plots.numbers import numbers
from batchboard.plots.parts import (
    AXIS,
    BODY,
    HEADROOM,
    LANE,
    Bars,
    Mark,
    Pause,
    Plot,
    Series,
    Tick,
)
from batchboard.plots.ticks import levels


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
    axis: Callable[[Sequence[float]], Sequence[str]] | None = None,
    pauses: Iterable[Pause] = (),
    marks: Iterable[Mark] = (),
    bars: Bars | None = None,
    now: float | None = None,
) -> Plot:
    """Draw `series` between the places `start` and `end`.

    `across` are the ticks under the plot, in the places of the series; `at` and `value` write a
    place and a value, `axis` all values of the axis where these are to be shorter. `now` draws a
    line where the present is before the end.
    """
    frame = Frame(start, max(end, start + 1e-9), _top(series))
    down = levels(frame.top)
    base = HEADROOM + BODY
    lane = LANE if bars is not None else 0
    return Plot(
        id=id,
        says=says,
        height=base + lane + AXIS,
        base=base,
        lane=base + lane,
        lines=spread([frame.line(one) for one in series]),
        across=[
            Tick(frame.share(tick.at), tick.label, tick.moment)
            for tick in across
            if start <= tick.at <= end
        ],
        down=[
            Tick(frame.y(one), words)
            for one, words in zip(down, axis(down) if axis else map(value, down), strict=True)
        ],
        pauses=apart(frame.box(p.start, p.end, p.label) for p in pauses),
        marks=apart(frame.box(m.at, m.at, m.label, m.tone) for m in marks if start <= m.at <= end),
        bars=frame.bars(bars) if bars else [],
        bars_name=bars.name if bars else "",
        bars_tone=bars.tone if bars else "",
        now=frame.share(now) if now is not None and start <= now < end else None,
        head=[one.name for one in series],
        rows=numbers(series, at, value),
    )


def _top(series: Sequence[Series]) -> float:
    return max((v for one in series for _, v in one.points if v is not None), default=0) or 1
