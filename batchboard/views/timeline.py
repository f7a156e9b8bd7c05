"""Every try as a bar in the slot that it took: waves, pauses and second tries can be seen."""

from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Exists, OuterRef

from batchboard.models import Attempt, Batch, Schedule
from batchboard.plot_data import lanes, wave_starts
from batchboard.plots import Tick, span_ticks
from batchboard.templatetags.figures import milliseconds, span
from batchboard.templatetags.untrusted import visible
from batchboard.views.failures import said
from dispatch.outcome import Outcome

KEY = (
    ("ok", "result"),
    ("run", "in flight"),
    ("hold", "rate limited"),
    ("dead", "failed"),
    ("again", "a second or later try"),
)
LABEL_STARTS_BY = 36
BARS = 400
NUMBERS_SHOWN = 40
TALLEST, LEAST_LANE, MOST_LANE, AXIS, HEAD = 220, 3.0, 12.0, 20, 8
TONES = {"": "run", Outcome.OK: "ok", Outcome.RATE_LIMITED: "hold", Outcome.CANCELLED: "wait"}


@dataclass(frozen=True)
class Bar:
    x: float
    width: float
    y: float
    height: float
    tone: str
    again: bool = False
    label: str = ""

    @property
    def label_at(self) -> tuple[float, str]:
        """Where the words over it stand, and what of them stands there: a phone has room for them
        on one side of the middle alone."""
        end = self.x + self.width
        if self.x <= LABEL_STARTS_BY:
            return self.x, "start"
        return (end, "end") if end >= 100 - LABEL_STARTS_BY else (50, "middle")


@dataclass(frozen=True)
class Timeline:
    """Bars over time; `key` are the tones with what they mean, `noun` what a bar stands for."""

    id: str
    says: str
    height: int
    bars: list[Bar]
    waves: list[float]
    across: list[Tick]
    shown: int
    total: int
    rows: list[list[str]]
    head: list[str] = field(default_factory=lambda: ["item", "try", "outcome", "latency"])
    key: tuple[tuple[str, str], ...] = KEY
    noun: str = "tries"

    @property
    def axis(self) -> int:
        return self.height - 5


def timeline(batch: Batch, now: datetime) -> Timeline:
    """The newest tries; all of them where there are few."""
    attempts = sorted(_newest(batch), key=lambda a: (a.started_at or a.granted_at, a.pk))
    origin = batch.started_at or now
    spans = [
        (
            ((a.started_at or a.granted_at) - origin).total_seconds(),
            ((a.ended_at or now) - origin).total_seconds(),
        )
        for a in attempts
    ]
    start = min((begin for begin, _ in spans), default=0.0)
    start = 0.0 if len(attempts) < BARS else start
    end = max((ended for _, ended in spans), default=1.0) or 1.0
    rows = lanes(spans)
    count = max(rows, default=0) + 1
    tall = min(MOST_LANE, max(LEAST_LANE, TALLEST / count))
    scale = 100 / max(1e-9, end - start)
    bars = [
        Bar(
            round((begin - start) * scale, 3),
            round(max(0.15, (ended - begin) * scale - 0.1), 3),
            round(HEAD + lane * tall, 1),
            round(tall - 1, 1),
            TONES.get(attempt.outcome, "dead"),
            attempt.again,  # type: ignore[attr-defined]
        )
        for attempt, (begin, ended), lane in zip(attempts, spans, rows, strict=True)
    ]
    waves = wave_starts(spans) if batch.schedule == Schedule.WAVES else []
    height = round(HEAD + count * tall + AXIS)
    again = sum(bar.again for bar in bars)
    return Timeline(
        id="plot-attempts",
        says=f"{len(bars):,} tries in up to {count} slots over {span(end - start)}, {again} of them"
        " second or later tries.",
        height=height,
        bars=bars,
        waves=[round((at - start) * scale, 2) for at in waves if at >= start],
        across=[
            Tick((tick.at - start) * scale, tick.label)
            for tick in span_ticks(end)
            if start <= tick.at <= end
        ],
        shown=len(bars),
        total=batch.attempts.count() if len(bars) == BARS else len(bars),
        rows=[
            _row(attempt, begin)
            for attempt, (begin, _) in list(zip(attempts, spans, strict=True))[
                : -NUMBERS_SHOWN - 1 : -1
            ]
        ],
    )


def _newest(batch: Batch) -> list[Attempt]:
    """Found by their ends alone, then read: the other way round the database would read every
    attempt before it sorts them."""
    tries = batch.attempts.order_by()
    found = list(tries.unended().values_list("pk", flat=True)[:BARS])
    ended = tries.ended().order_by("-ended_at").values_list("pk", flat=True)
    found += ended[: BARS - len(found)]
    earlier = Attempt.objects.filter(item=OuterRef("item"), pk__lt=OuterRef("pk"))
    columns = (
        "item__key",
        "outcome",
        "granted_at",
        "started_at",
        "ended_at",
        "latency_ms",
    )
    shown = Attempt.objects.filter(pk__in=found).select_related("item").only(*columns)
    return list(shown.annotate(again=Exists(earlier)))


def _row(attempt: Attempt, began: float) -> list[str]:
    outcome = said(attempt.outcome) if attempt.ended_at else "in flight"
    again = "again" if attempt.again else "first"  # type: ignore[attr-defined]
    key = visible(attempt.item.key)
    return [span(max(0.0, began)), key, again, outcome, milliseconds(attempt.latency_ms)]
