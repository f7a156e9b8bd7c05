"""How good estimates were: what batches cost over what was estimated, by task type and mode."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from batchboard.estimate_error import Off, off
from batchboard.models import Batch
from batchboard.plots import DAY, Plot, Series, clock, clock_ticks, plot
from batchboard.states import BatchState
from batchboard.templatetags.figures import NARROW_SPACE

LATEST = 1_000
"""Batches that are looked at: older ones were estimated from less."""

PLOTTED = 300
LISTED = 20
HOUR = 3_600
ROOM_FOR_NAME = 5
"""Margins before the first point: there stands the name of the line."""

WORDS = {
    "low": "Too low",
    "high": "Too high",
    "fair": "No error found",
    "few": "Too few to tell",
}
TONES = {"low": "hold", "high": "wait", "fair": "ok", "few": "wait"}


@dataclass(frozen=True)
class Past:
    """A batch that ended, with what was estimated of it and what it cost (dollars)."""

    public_id: str
    name: str
    task_type: str
    mode: str
    finished_at: datetime
    estimated: Decimal
    known: Decimal
    unknown: Decimal

    @property
    def actual(self) -> Decimal:
        """With attempts of unknown cost counted at their bound."""
        return self.known + self.unknown

    @property
    def ratio(self) -> float:
        return float(self.actual / self.estimated)


@dataclass(frozen=True)
class Group:
    """Batches of one task type and mode: how far their estimates were off."""

    task_type: str
    mode: str
    off: Off

    @property
    def words(self) -> str:
        return WORDS[self.off.verdict]

    @property
    def tone(self) -> str:
        return TONES[self.off.verdict]


@require_safe
def cost_estimates(request: HttpRequest) -> HttpResponse:
    past = _past()
    found = off([one.ratio for one in past])
    groups = _groups(past)
    context = {
        "shown": "costs_estimates",
        "off": found,
        "tone": TONES[found.verdict] if found else "",
        "headline": _headline(found) if found else "",
        "groups": groups,
        "plot": _plot(past[:PLOTTED]) if len(past) > 1 else None,
        "latest": past[:LISTED],
        "is_all": len(past) < LATEST,
    }
    return render(request, "costs/estimates.html", context)


def _past() -> list[Past]:
    """The latest batches that did all of their items, newest first, in one query."""
    found: Any = (
        Batch.objects.on_board()
        .filter(finished_at__isnull=False, cancelled=0, estimate_expected__gt=0)
        .exclude(state=BatchState.CANCELLED)
        .filter(Q(cost__gt=0) | Q(unknown_cost__gt=0))
        .order_by("-finished_at", "-id")
        .values_list(
            "public_id", "name", "version__task_type__name", "mode", "finished_at",
            "estimate_expected", "cost", "unknown_cost",
        )[:LATEST]
    )  # fmt: skip
    return [Past(*row) for row in found]


def _groups(past: Sequence[Past]) -> list[Group]:
    """By task type and mode, those with the most batches first."""
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in past:
        ratios[one.task_type, one.mode].append(one.ratio)
    groups = [
        Group(*key, found) for key, some in ratios.items() if (found := off(some)) is not None
    ]
    return sorted(groups, key=lambda one: (-one.off.count, one.task_type, one.mode))


def _headline(found: Off) -> str:
    mid = _against(found.mid)
    if found.low is None or found.high is None:
        return f"One batch so far: it cost {mid}."
    match found.verdict:
        case "fair":
            ends = f"between {_against(found.low)} and {_against(found.high)}"
            return f"No error found in estimates: batches cost {ends}."
        case _:
            near, far = sorted(abs(end - 1) * 100 for end in (found.low, found.high))
            return f"Batches cost {mid} ({near:,.0f}–{far:,.0f}{NARROW_SPACE}%)."


def _against(ratio: float) -> str:
    number = f"{abs(ratio - 1) * 100:,.0f}{NARROW_SPACE}%"
    return f"{number} {'more' if ratio >= 1 else 'less'} than estimated"


def _plot(past: Sequence[Past]) -> Plot:
    """Each batch as a point, against the line of what was estimated."""
    points = [(one.finished_at.timestamp(), one.ratio) for one in reversed(past)]
    start, end = points[0][0], points[-1][0]
    margin = max(HOUR, (end - start) / 40)
    begin, over = start - ROOM_FOR_NAME * margin, end + margin
    below = sum(ratio <= 1 for _, ratio in points)
    return plot(
        "plot-estimates",
        f"What {len(points)} batches cost over their estimates, by when they ended: {below} cost"
        f" as much as estimated or less, {len(points) - below} more.",
        [
            Series("cost over estimate", points, tone="run", dotted=True),
            Series("as estimated", [(begin, 1.0), (over, 1.0)], dashed=True),
        ],
        start=begin,
        end=over,
        across=clock_ticks(begin, over),
        at=partial(clock, step=DAY),
        value="{:.2f}".format,
        axis=lambda levels: [f"{level:g}" for level in levels],
    )
