"""What a task type cost by week, and the plot of it with the moment of a change."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django.db.models import Case, Min, Q, Sum, Value, When
from django.db.models.functions import TruncWeek

from batchboard.arms import Past
from batchboard.models import Batch
from batchboard.money import decimals_of
from batchboard.plots import Mark, Plot, Series, Tick, plot
from batchboard.templatetags.figures import usd_per_task
from batchboard.views.cost_choices import Choice
from batchboard.views.cost_words import on_axis, per_task
from batchboard.weekly import WEEK, Week, monday

MOST_WEEKS = 26
TICKS = 6


def weeks_of(task_type: int, choice: Choice | None) -> list[Week]:
    """The latest weeks in which batches began, in order, in one query; a week in which something
    changed is there twice."""
    after = _within(choice.after) if choice else Q(pk__in=[])
    found = (
        Batch.objects.on_board()
        .filter(version__task_type=task_type, started_at__isnull=False)
        .order_by()
        .annotate(
            week=TruncWeek("started_at"), after=Case(When(after, then=Value(1)), default=Value(0))
        )
        .values("week", "after")
        .annotate(
            first=Min("started_at"),
            tasks=Sum("succeeded"),
            known=Sum("cost"),
            unknown=Sum("unknown_cost"),
        )
        .order_by("-week", "-after")[: MOST_WEEKS * 2]
    )
    weeks = [
        Week(
            monday(row["week"]),
            row["first"],
            row["tasks"],
            row["known"] + row["unknown"],
            bool(row["after"]),
        )
        for row in found
        if row["tasks"] or row["known"] or row["unknown"]
    ]
    latest = sorted({week.start for week in weeks})[-MOST_WEEKS:]
    return [week for week in weeks[::-1] if week.start in latest]


def weekly_plot(weeks: Sequence[Week], choice: Choice, tone: str) -> Plot | None:
    """A dot for each week; those after the change in the colour of what it did. None of one."""
    known = [week for week in weeks if week.per_task is not None]
    if len(known) < 2:
        return None
    start, end = known[0].start, max(week.start for week in known) + WEEK
    begin, over = start.timestamp(), end.timestamp()
    return plot(
        "plot-weeks",
        _says(known, choice),
        [
            Series("before", _points(known, False), tone="wait", dotted=True),
            Series("after", _points(known, True), tone=tone, dotted=True),
        ],
        start=begin,
        end=over,
        across=_ticks(start, end),
        at=lambda at: _day(datetime.fromtimestamp(at, start.tzinfo)),
        value=partial(per_task, decimals=decimals_of(week.per_task for week in known)),
        axis=on_axis,
        marks=[
            Mark(
                choice.changed_at.timestamp(),
                f"{_day(choice.changed_at)}: {choice.change}",
                "ink",
            )
        ],
    )


def _within(past: Past) -> Q:
    """The batches of a past set, as a condition on all of a task type's."""
    given = {
        "mode": past.mode,
        "version__number": past.version,
        "started_at__gte": past.since,
        "started_at__lt": past.until,
    }
    return Q(**{name: value for name, value in given.items() if value is not None})


def _points(weeks: Sequence[Week], after: bool) -> list[tuple[float, float | None]]:
    return [
        (week.first.timestamp(), float(week.per_task))
        for week in weeks
        if week.after == after and week.per_task is not None
    ]


def _ticks(start: datetime, end: datetime) -> list[Tick]:
    """Mondays, so many that their words stay apart."""
    number = (end - start) // WEEK
    every = -(-number // TICKS)
    mondays = [start + n * WEEK for n in range(0, number + 1, every)]
    return [Tick(day.timestamp(), _day(day)) for day in mondays if day < end]


def _says(weeks: Sequence[Week], choice: Choice) -> str:
    first, last = weeks[0], weeks[-1]
    both = (first.per_task, last.per_task)
    then, now = (usd_per_task(one, decimals_of(both)) for one in both)
    return (
        f"Cost per task by week: {then} in the week of {_day(first.start)}, {now} in that of"
        f" {_day(last.start)}; {choice.change} on {_day(choice.changed_at)}."
    )


def _day(moment: datetime) -> str:
    return f"{moment:%b} {moment.day}"
