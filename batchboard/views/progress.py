"""The progress bar: a cell for every item of a small batch, segments for a large one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from batchboard.models import Batch, Item

MOST_CELLS = 60
TIGHT_FROM = 48
GAP = 0.5
LEAST = {"dead": 1.0, "running": 0.8}
LEAST_OF_OTHERS = 0.5


@dataclass(frozen=True)
class Segment:
    """A part of the bar, in percent of its width."""

    state: str
    start: float
    width: float


@dataclass(frozen=True)
class Progress:
    """Either `cells`, one state for each item in the file's order, or `segments`."""

    cells: Sequence[str] = ()
    segments: Sequence[Segment] = field(default_factory=list)

    @property
    def tight(self) -> bool:
        return len(self.cells) >= TIGHT_FROM


def progress(batch: Batch, running: int, cells: Sequence[str] | None = None) -> Progress:
    """The bar of a batch, of `cells` where they were read, else of its counters."""
    if cells:
        return Progress(cells=cells)
    waiting = max(0, batch.total - batch.ended - running)
    numbers = {
        "succeeded": batch.succeeded,
        "running": running,
        "waiting": waiting,
        "cancelled": batch.cancelled,
        "dead": batch.dead,
    }
    if batch.total <= MOST_CELLS:
        return Progress(cells=[state for state, n in numbers.items() for _ in range(n)])
    return Progress(segments=_segments({state: n for state, n in numbers.items() if n}))


def cells_of(batches: Iterable[Batch]) -> dict[int, list[str]]:
    """The states of the items of those batches that are small and under way, in one query."""
    wanted = [b.pk for b in batches if b.total <= MOST_CELLS and b.state != "draft"]
    cells: dict[int, list[str]] = {}
    rows = Item.objects.filter(batch__in=wanted).order_by("batch", "position")
    for batch, state in rows.values_list("batch", "state"):
        cells.setdefault(batch, []).append(state)
    return cells


def _segments(numbers: dict[str, int]) -> list[Segment]:
    """Widths by number; a part too small to be seen gets its least width from the largest."""
    room = 100 - GAP * (len(numbers) - 1)
    whole = sum(numbers.values())
    widths = {
        state: max(LEAST.get(state, LEAST_OF_OTHERS), room * n / whole)
        for state, n in numbers.items()
    }
    largest = max(widths, key=lambda state: widths[state])
    widths[largest] -= sum(widths.values()) - room
    found, start = [], 0.0
    for state, width in widths.items():
        found.append(Segment(state, round(start, 2), round(width, 2)))
        start += width + GAP
    return found
