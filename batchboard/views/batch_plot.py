"""The plots of a batch, drawn when they are asked for."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from batchboard import rows
from batchboard.models import Batch, Limits, Mode
from batchboard.money import UNITS_PER_DOLLAR
from batchboard.plot_data import latencies
from batchboard.plots import Bars, Mark, Plot, Series, plot, span_ticks
from batchboard.templatetags.figures import share, span, usd
from batchboard.views.cap_history import history
from batchboard.views.course import course_of, extent, latency_counts
from batchboard.views.message_batch_plots import message_batches, with_provider
from batchboard.views.timeline import timeline

SCALE_OF_BOUNDS = 4
"""A budget many times what is spent is not drawn: it would press the rest against the ground."""


@require_safe
def batch_plot(request: HttpRequest, public_id: str) -> HttpResponse:
    batch = get_object_or_404(Batch.objects.select_related("version"), public_id=public_id)
    now = rows.now()
    kind = request.GET.get("plot", "")
    context: dict[str, Any] = {"batch": batch}
    if batch.started_at is not None:
        submits = batch.mode == Mode.PROVIDER_BATCH
        if kind == "attempts":
            drawn = message_batches if submits else timeline
            context["timeline"] = drawn(batch, batch.finished_at or now)
        else:
            usual = with_provider if submits else _throughput
            context["plot"] = PLOTS.get(kind, usual)(batch, now)
    return render(request, "batch/_plot.html", context)


def _throughput(batch: Batch, now: datetime) -> Plot:
    until, end = extent(batch, now)
    course = course_of(batch, now)
    limits = Limits.objects.current()
    past = history(batch, limits, batch.finished_at or now, end)
    flying = course.in_flight(until)
    name = _limit_name(batch, {level for _, level in past.cap})
    most = max(level or 0 for _, level in flying)
    return plot(
        "plot-throughput",
        f"Calls in flight over {span(until)}: {most:.0f} at the most, {flying[-1][1]:.0f} at the"
        f" end, {batch.succeeded:,} results.",
        [
            Series(
                "in flight" if batch.finished_at else f"{flying[-1][1]:.0f} in flight",
                flying, stepped=True, filled=True,
            ),
            Series(name, past.cap, stepped=True, dashed=True),
        ],
        start=0,
        end=end,
        across=span_ticks(end),
        at=span,
        pauses=past.pauses,
        bars=Bars("items done", course.results(until)),
        now=None if batch.finished_at else until,
    )  # fmt: skip


def _limit_name(batch: Batch, levels: set[float | None]) -> str:
    """With its value where that was the same all the time."""
    if len(levels) > 1:
        return "cap in force"
    (cap,) = levels
    if cap is None:
        return "cap"
    return f"N {batch.concurrency}" if batch.concurrency == cap else f"cap {cap:.0f}"


def _cost(batch: Batch, now: datetime) -> Plot:
    until, end = extent(batch, now)
    spent = course_of(batch, now).spent(until, UNITS_PER_DOLLAR)
    near = max(batch.cost, batch.estimate_expected or Decimal(0)) * SCALE_OF_BOUNDS
    bounds = [
        (f"{name} {usd(amount)}", amount)
        for name, amount in (("estimate", batch.estimate_expected), ("budget", batch.budget))
        if amount is not None and amount <= near
    ]
    compared = _compared(batch)
    return plot(
        "plot-cost",
        f"Money spent over {span(until)}: {usd(batch.cost)}{compared}.",
        [
            Series(f"{usd(batch.cost)} spent", spent, filled=True),
            *(
                Series(name, [(0, float(amount)), (end, float(amount))], dashed=True)
                for name, amount in bounds
            ),
        ],
        start=0,
        end=end,
        across=span_ticks(end),
        at=span,
        value=lambda dollars: usd(Decimal(str(round(dollars, 9)))) if dollars else "$0",
        now=None if batch.finished_at else until,
    )


def _compared(batch: Batch) -> str:
    if not batch.estimate_expected:
        return ""
    part = share(float(batch.cost / batch.estimate_expected))
    return f", {part} of the estimate of {usd(batch.estimate_expected)}"


def _latency(batch: Batch, now: datetime) -> Plot | None:
    found = latencies(latency_counts(batch, now))
    if found is None:
        return None
    return plot(
        "plot-latency",
        f"How long {found.number:,} calls took: half of them up to {span(found.median)}, 95 % up to"
        f" {span(found.slow)}.",
        [Series("calls", found.points, stepped=True, filled=True)],
        start=0,
        end=found.end,
        across=span_ticks(found.end),
        at=span,
        marks=[
            Mark(found.median, f"half up to {span(found.median)}"),
            Mark(found.slow, f"95 % up to {span(found.slow)}"),
        ],
    )


PLOTS: dict[str, Callable[[Batch, datetime], Plot | None]] = {
    "cost": _cost,
    "latency": _latency,
}
