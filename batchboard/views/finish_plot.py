"""The plot of how long a batch takes for each number of calls at once."""

from dataclasses import dataclass

from batchboard.estimate import Estimate

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 320, 118, 30, 8, 20
STEPS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
UNITS = ((86400, "Days"), (3600, "Hours"), (60, "Minutes"), (1, "Seconds"))


@dataclass(frozen=True)
class Tick:
    place: float
    text: str


@dataclass(frozen=True)
class Plot:
    """All that the drawing needs, in its own units."""

    title: str
    sentence: str
    line: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    band: tuple[float, float, str] | None
    here: tuple[float, float, str]
    rows: list[tuple[int, float]]
    end: int = WIDTH
    floor: int = HEIGHT - BOTTOM


def finish_plot(estimate: Estimate, items: int, n: int, most: int) -> Plot | None:
    """`n` is the number asked for, `most` the largest that is drawn."""
    if items < 2 or most < 2:
        return None

    def seconds(at: int) -> float:
        return max(items * estimate.latency / min(at, items), estimate.seconds_at_best)

    start = max(1, most // 12)
    highest = seconds(start)
    usual = seconds(max(2, most // 3))
    unit, title = next((u for u in UNITS if usual >= u[0] * 2 or u[0] == 1), UNITS[-1])
    step = next((s for s in STEPS if highest / s <= 4), STEPS[-1])

    def x(at: float) -> float:
        return round(LEFT + at / most * (WIDTH - LEFT - 8), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - value / highest * (HEIGHT - BOTTOM - TOP), 1)

    numbers = sorted({start + round(i * (most - start) / 40) for i in range(41)} | {n})
    numbers = [number for number in numbers if start <= number <= most]
    here = max(start, min(n, most))
    full = estimate.full_concurrency
    low, high = round(full * 0.6), round(full * 0.8)
    band = None
    if start <= low < most:
        high = min(high, most)
        band = (
            x(low),
            max(4.0, x(high) - x(low)),
            f"{low:,}–{high:,}" if high > low else f"{low:,}",
        )
    flat = seconds(here) <= estimate.seconds_at_best
    return Plot(
        title=f"{title} to finish, by N",
        sentence=f"With {n:,} calls at once the run takes about {seconds(n) / unit:.3g}"
        f" {title.lower()}; with {most:,}, {seconds(most) / unit:.3g}.",
        line=" ".join(f"{x(number)},{y(seconds(number))}" for number in numbers),
        x_ticks=[
            Tick(x(at), f"{at:,}") for at in sorted({0, most // 4, most // 2, most * 3 // 4, most})
        ],
        y_ticks=[
            Tick(y(value * step), f"{value * step / unit:g}")
            for value in range(int(highest // step) + 1)
        ],
        band=band,
        here=(x(here), y(seconds(here)), f"N {n:,}: no quicker" if flat else f"N {n:,}"),
        rows=[(number, seconds(number) / unit) for number in numbers[:: max(1, len(numbers) // 8)]],
    )
