"""The words along the axes: even levels, times of day, lengths of time."""

from datetime import UTC, datetime
from math import ceil, floor, log10

from batchboard.plots.parts import Tick

STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600)
DAY = 86_400
LONG_STEPS = (
    7_200, 10_800, 14_400, 21_600, 43_200, DAY, 2 * DAY,
    *(weeks * 7 * DAY for weeks in (1, 2, 4, 13, 26, 52)),
)  # fmt: skip


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


def _round_up(number: float) -> float:
    size = 10.0 ** floor(log10(number))
    return next(size * n for n in (1, 2, 5, 10) if size * n >= number * (1 - 1e-9))


def _step(about: float) -> int:
    return next((step for step in (*STEPS, *LONG_STEPS) if step >= about), LONG_STEPS[-1])


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
