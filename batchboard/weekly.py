"""How much of a task type is done in a week, and what a change of its cost means for a year.

Arithmetic alone; weeks begin on Monday (UTC).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

WEEK = timedelta(days=7)
WEEKS_PER_YEAR = Decimal(365) / 7
FEWEST_WEEKS = 3
"""With work in fewer weeks than these nothing is said of a usual week."""

WEEKS_LOOKED_AT = 8


@dataclass(frozen=True)
class Week:
    """What batches that began in one week did: how many tasks got a result, and what was spent
    (dollars). `first` is when the first of them began; `after` tells those after a change."""

    start: datetime
    first: datetime
    tasks: int
    cost: Decimal
    after: bool = False

    @property
    def per_task(self) -> Decimal | None:
        return self.cost / self.tasks if self.tasks else None


def usual_rate(weeks: Sequence[Week], now: datetime) -> Decimal | None:
    """Tasks in a usual week: the mean of the last complete weeks, idle ones included.

    None where there was work in too few of them.
    """
    end = monday(now)
    begin = max(end - WEEKS_LOOKED_AT * WEEK, min((w.start for w in weeks), default=end))
    within = [week for week in weeks if begin <= week.start < end]
    if len({week.start for week in within if week.tasks}) < FEWEST_WEEKS:
        return None
    return Decimal(sum(week.tasks for week in within)) / ((end - begin) // WEEK)


def yearly(rate: Decimal, before: Decimal, after: Decimal) -> Decimal:
    """Dollars that a year costs less at `rate` tasks a week; negative where it costs more."""
    return (before - after) * rate * WEEKS_PER_YEAR


def monday(moment: datetime) -> datetime:
    """The beginning of the week that a moment (UTC) lies in."""
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=midnight.weekday())
