"""When something recurs: a cron expression in a time zone, its next moments, and both in words.

Celery's crontab reads the expression and counts on the calendar. It is given the wall clock of the
zone as if that clock never changed, and what it finds is then placed in the zone: so a time that a
clock change leaves out becomes the next moment that exists, and one that comes twice counts once.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from zoneinfo import ZoneInfo, available_timezones

from celery.schedules import ParseException, crontab

from batchboard.wording import listed

LONGEST = 120
WORKED_OUT = "Five fields: minute, hour, day of month, month, day of week, as in 0 9 * * 1."
FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
_NUMBERS = r"(\*|\d+(-\d+)?)"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|\d+)"
_DAY = r"(sun|mon|tue|wed|thu|fri|sat|\d+)"
_PARTS = (
    _NUMBERS, _NUMBERS, _NUMBERS,
    rf"(\*|{_MONTH}(-{_MONTH})?)", rf"(\*|{_DAY}(-{_DAY})?)",
)  # fmt: skip
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December")  # fmt: skip
MOST_TIMES = 4


class CronError(ValueError):
    """The expression or the zone cannot be used; `field` is "cron" or "zone", str() says why."""

    def __init__(self, message: str, field: str = "cron") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Times:
    """The moments that an expression names in a zone. Raises CronError where it names none."""

    cron: str
    zone: str

    def __post_init__(self) -> None:
        _ = self._place, self._calendar

    def after(self, moment: datetime) -> datetime:
        """The first of them after `moment`, in UTC."""
        wall = moment.astimezone(self._place).replace(tzinfo=UTC)
        while True:
            last, delta, _ = self._calendar.remaining_delta(wall, tz=UTC)
            wall = last + delta
            found = self._placed(wall)
            if found > moment:
                return found

    def upcoming(self, moment: datetime, count: int) -> Iterator[datetime]:
        for _ in range(count):
            moment = self.after(moment)
            yield moment

    def here(self, moment: datetime) -> str:
        """A moment on the zone's clock: Mon, Nov 23, 09:00."""
        local = moment.astimezone(self._place)
        return f"{local:%a, %b} {local.day}, {local:%H:%M}"

    def words(self) -> str:
        """Mondays at 09:00 Europe/Berlin."""
        found = self._calendar
        days = _days(found.day_of_month, found.month_of_year, found.day_of_week)
        return f"{_joined(days, _hours(found.hour, found.minute))} {self.zone}"

    def _placed(self, wall: datetime) -> datetime:
        """The moment of a wall clock's time: the first, where it comes twice; where it never
        comes, the one at which the clock was put forward past it."""
        there = wall.replace(tzinfo=self._place)
        moment = there.astimezone(UTC)
        if moment.astimezone(self._place).replace(tzinfo=UTC) == wall:
            return moment
        # Within a gap, fold 0 counts on with the offset from before it and fold 1 with the one
        # from after it: the change lies between the two.
        early = there.replace(fold=1).astimezone(UTC)
        before = early.astimezone(self._place).utcoffset()
        while moment - early > timedelta(seconds=1):
            middle = early + (moment - early) / 2
            if middle.astimezone(self._place).utcoffset() == before:
                early = middle
            else:
                moment = middle
        return moment.replace(microsecond=0)

    @cached_property
    def _place(self) -> ZoneInfo:
        if self.zone not in zones():
            raise CronError("There is no such time zone. Give one such as Europe/Berlin.", "zone")
        return ZoneInfo(self.zone)

    @cached_property
    def _calendar(self) -> crontab:
        parts = self.cron.lower().split()
        if len(parts) != len(FIELDS) or len(self.cron) > LONGEST:
            raise CronError(WORKED_OUT)
        for name, allowed, text in zip(FIELDS, _PARTS, parts, strict=True):
            one = rf"{allowed}(/[1-9]\d*)?"
            if not re.fullmatch(rf"{one}(,{one})*", text, re.ASCII):
                raise CronError(f"“{text}” is not a valid {name.replace('_', ' ')}. {WORKED_OUT}")
        try:
            named = dict(zip(FIELDS, parts, strict=True))
            found = crontab(**named, nowfun=lambda: datetime.now(UTC))
        except (ValueError, ParseException, IndexError) as wrong:
            raise CronError(f"{_sentence(str(wrong))} {WORKED_OUT}") from wrong
        found.tz = UTC  # else it asks an app for its zone
        return found


@lru_cache(maxsize=1)
def zones() -> tuple[str, ...]:
    """The names of all time zones."""
    return tuple(sorted(available_timezones()))


def _sentence(text: str) -> str:
    bare = text.removeprefix("Invalid crontab: ").rstrip(". ")
    bare = bare.replace("month_of_year", "month").replace("day_of_month", "day")
    return f"{bare[:1].upper()}{bare[1:]}."


def _days(of_month: Collection[int], months: Collection[int], of_week: Collection[int]) -> str:
    """Which days, or nothing where it is every day."""
    named = "" if len(of_week) == 7 else _weekdays(of_week)
    dates = ""
    if len(of_month) < 31:
        dates = "the " + listed([_ordinal(day) for day in sorted(of_month)])
    during = "" if len(months) == 12 else listed([MONTHS[n - 1] for n in sorted(months)])
    if dates:
        when = f"{dates} of {during or 'the month'}"
        return f"{named} that are {when}" if named else f"on {when}"
    if during:
        return f"{named or 'every day'} in {during}"
    return named


def _weekdays(numbers: Collection[int]) -> str:
    if set(numbers) == {1, 2, 3, 4, 5}:
        return "Mondays to Fridays"
    # A week begins on Monday.
    return listed([f"{DAYS[n]}s" for n in sorted(numbers, key=lambda n: (n - 1) % 7)])


def _hours(hours: Collection[int], minutes: Collection[int]) -> str:
    if len(hours) * len(minutes) <= MOST_TIMES:
        return "at " + listed([f"{h:02}:{m:02}" for h in sorted(hours) for m in sorted(minutes)])
    past = _minutes(sorted(minutes))
    if len(hours) == 24:
        return past
    step = _step(sorted(hours), 24)
    if step:
        return f"{past}, every {step} hours"
    first, last = min(hours), max(hours)
    if len(hours) == last - first + 1:
        return f"{past}, from {first:02} to {last:02} o’clock"
    return f"{past}, in the hours {listed([f'{hour:02}' for hour in sorted(hours)])}"


def _minutes(minutes: list[int]) -> str:
    if len(minutes) == 60:
        return "every minute"
    if step := _step(minutes, 60):
        return f"every {step} minutes"
    if minutes == [0]:
        return "on the hour"
    past = listed([str(minute) for minute in minutes])
    return f"at {past} minute{'' if minutes == [1] else 's'} past the hour"


def _step(numbers: list[int], whole: int) -> int:
    """The step where they are every so many from 0 on all the way round, else 0."""
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 0
    return step if step > 1 and whole % step == 0 and numbers == [*range(0, whole, step)] else 0


def _joined(days: str, hours: str) -> str:
    if not days:
        days = "every day" if hours.startswith("at ") and ":" in hours else ""
    both = f"{days} {hours}".strip() if ":" in hours else ", ".join(filter(None, (hours, days)))
    return both[:1].upper() + both[1:]


def _ordinal(day: int) -> str:
    ending = "th" if day in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"
