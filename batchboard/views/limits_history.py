"""What the limits page plots: calls in flight under the cap, and use of each limit, over time."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from batchboard.models import Event, Limits, ModelLimit, Sample
from batchboard.models.limit_settings import RATES
from batchboard.models.sample import KEPT
from batchboard.plots import Bars, Mark, Pause, Plot, Point, Series, clock, clock_ticks, plot
from batchboard.views.limits_use import USED

EVENTS = ("limits.cut", "limits.paused", "limits.resumed")
MOST_EVENTS = 200
GAP = 4
"""After so many missing samples the line breaks: nobody wrote, so nothing is known."""

NAMES = {"rpm": "requests", "itpm": "input tokens", "otpm": "output tokens"}
TONES = {"rpm": "wait", "itpm": "run", "otpm": "person"}


@dataclass(frozen=True)
class Range:
    """How far back a plot goes, and from samples of which length."""

    name: str
    title: str
    length: timedelta
    seconds: int


RANGES = {
    one.name: one
    for one in (
        Range("hour", "1 hour", timedelta(hours=1), 10),
        Range("day", "1 day", timedelta(days=1), 120),
        Range("week", "1 week", timedelta(days=7), 900),
    )
}


@dataclass(frozen=True)
class History:
    flight: Plot
    use: Plot
    measured: bool
    """Whether there is anything to see yet."""

    used: bool
    """Whether any call was made: lines without one would all lie on the ground."""


class Samples:
    """The samples of a range, by time, and how long each of them tells of."""

    def __init__(self, shown: Range, now: datetime) -> None:
        self.shown, self.now = shown, now
        self.start = now - shown.length
        self.totals: list[Sample] = []
        self.flows: dict[datetime, list[Sample]] = defaultdict(list)
        for one in Sample.objects.filter(seconds=shown.seconds, at__gt=self.start).order_by("at"):
            if one.model:
                self.flows[one.at].append(one)
            else:
                self.totals.append(one)

    @property
    def begin(self) -> datetime:
        """Where the plot begins: a young installation's few minutes fill its width."""
        if not self.totals:
            return self.start
        first = self.totals[0].at - timedelta(seconds=self.shown.seconds)
        return max(self.start, min(first, self.now - self.shown.length / 6))

    def spans(self) -> list[tuple[Sample, float, float]]:
        """Each total with the seconds in which its span begins and ends."""
        if self.shown.seconds != min(KEPT):
            long = self.shown.seconds
            latest = self.now.timestamp()
            return [
                (one, one.at.timestamp(), min(one.at.timestamp() + long, latest))
                for one in self.totals
            ]
        found, before = [], 0.0
        for one in self.totals:
            at = one.at.timestamp()
            begins = before if at - before < GAP * self.shown.seconds else at - self.shown.seconds
            found.append((one, begins, at))
            before = at
        return found


def history(limits: Limits, models: dict[str, ModelLimit], shown: Range, now: datetime) -> History:
    samples = Samples(shown, now)
    start, end = samples.begin.timestamp(), now.timestamp()
    draw = partial(
        plot,
        start=start,
        end=end,
        across=clock_ticks(start, end),
        at=partial(clock, step=_step(shown)),
    )
    events = list(
        Event.objects.filter(batch=None, verb__in=EVENTS, at__gt=samples.start).order_by("-id")[
            :MOST_EVENTS
        ]
    )[::-1]
    return History(
        draw(
            "flight",
            _flight_says(samples, shown),
            [
                Series("in flight", _points(samples, "in_flight"), filled=True),
                Series("cap in force", _points(samples, "cap"), stepped=True, dashed=True),
            ],
            marks=_cuts(events),
            pauses=_pauses(events, limits, end),
            bars=Bars("429s", _limited(samples), tone="hold"),
        ),
        draw(
            "use",
            f"Use of each limit in the last {shown.title[2:]}, by the model that used most of it.",
            [
                *(
                    Series(NAMES[rate], _use(samples, rate, limits, models), tone=TONES[rate])
                    for rate in RATES
                ),
                Series("allowed", [(start, 100.0), (end, 100.0)], dashed=True),
            ],
            value="{:.0f} %".format,
        ),
        bool(samples.totals),
        bool(samples.flows),
    )


def limited_today(now: datetime) -> dict[str, int]:
    """How many calls of each model a 429 answered since midnight (UTC)."""
    found: dict[str, int] = defaultdict(int)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    today = Sample.objects.filter(seconds=max(KEPT), at__gte=midnight).exclude(model="")
    for model, limited in today.values_list("model", "limited"):
        found[model] += limited
    return found


def _step(shown: Range) -> float:
    return 10 if shown.seconds == min(KEPT) else 60


def _points(samples: Samples, column: str) -> list[Point]:
    points: list[Point] = []
    patience = GAP * samples.shown.seconds
    for one in samples.totals:
        at = one.at.timestamp()
        if points and at - points[-1][0] > patience:
            points.append((points[-1][0] + 1, None))
        points.append((at, getattr(one, column)))
    return points


def _use(samples: Samples, rate: str, limits: Limits, models: dict[str, ModelLimit]) -> list[Point]:
    """Percent of a limit that was used, by the model that used most of it."""
    headroom = float(limits.configured("headroom"))
    points: list[Point] = []
    before = 0.0
    for total, begins, ends in samples.spans():
        if points and begins - before > GAP * samples.shown.seconds:
            points.append((before + 1, None))
        seconds = max(1.0, ends - begins)
        shares = [
            getattr(one, USED[rate]) * 60 / seconds
            / (_row(models, one.model).allowed(rate, limits) * headroom)
            for one in samples.flows.get(total.at, [])
        ]  # fmt: skip
        points.append((ends, max(shares, default=0.0) * 100))
        before = ends
    return points


def _row(models: dict[str, ModelLimit], model: str) -> ModelLimit:
    return models.get(model) or ModelLimit(model=model)


def _limited(samples: Samples) -> list[tuple[float, float, float]]:
    """429s in spans wide enough to be seen: sixty over the whole plot."""
    wide = samples.shown.length.total_seconds() / 60
    counts: dict[float, int] = defaultdict(int)
    for at, flows in samples.flows.items():
        counts[at.timestamp() // wide * wide] += sum(one.limited for one in flows)
    return [(at, at + wide, count) for at, count in sorted(counts.items()) if count]


def _cuts(events: list[Event]) -> list[Mark]:
    return [
        Mark(event.at.timestamp(), f"429: {event.detail['before']} → {event.detail['after']}")
        for event in events
        if event.verb == "limits.cut"
    ]


def _pauses(events: list[Event], limits: Limits, end: float) -> list[Pause]:
    """Times in which a person had paused everything, and those that a 429 asked for."""
    found = [
        Pause(event.at.timestamp(), min(end, event.at.timestamp() + event.detail["seconds"]))
        for event in events
        if event.verb == "limits.cut" and event.detail.get("seconds")
    ]
    since = None
    for event in events:
        if event.verb == "limits.paused":
            since = event.at.timestamp()
        elif event.verb == "limits.resumed" and since is not None:
            found.append(Pause(since, event.at.timestamp(), "paused"))
            since = None
    if since is not None and limits.paused:
        found.append(Pause(since, end, "paused"))
    return found


def _flight_says(samples: Samples, shown: Range) -> str:
    if not samples.totals:
        return f"Calls in flight in the last {shown.title[2:]}: nothing was measured yet."
    most = max(one.in_flight for one in samples.totals)
    now = samples.totals[-1]
    return (
        f"Calls in flight in the last {shown.title[2:]}: {most} at most, {now.in_flight} now,"
        f" with a cap of {now.cap} in force."
    )
