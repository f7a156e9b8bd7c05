"""The plots of a batch whose items go to the provider in message batches: how much of it is there,
and each message batch as a bar from when it was sent to when the provider was done with it."""

from datetime import datetime

from batchboard.models import Batch, Submission
from batchboard.plots import Bars, Plot, Series, Tick, plot, span_ticks
from batchboard.states import SubmissionState
from batchboard.templatetags.figures import span, whole_span
from batchboard.views.cap_history import own_pauses
from batchboard.views.course import course_of, extent
from batchboard.views.timeline import Bar, Timeline

S = SubmissionState
SHOWN = 12
HEAD, LANE, BAR, AXIS = 18, 30, 10, 20
NARROWEST = 0.4
KEY = (
    ("hold", "on the way"),
    ("run", "with the provider"),
    ("ok", "results are in"),
    ("dead", "refused"),
)
TONES = {S.SENDING: "hold", S.ENDED: "ok", S.FAILED: "dead"}
WORDS = {
    S.PREPARING: "being filled",
    S.READY: "waits to be sent",
    S.SENDING: "on the way",
    S.WORKING: "with the provider",
    S.COLLECTING: "results come in",
    S.ENDED: "results are in",
    S.FAILED: "refused",
}
SHORT = {S.SENDING: "on the way", S.FAILED: "refused"}


def with_provider(batch: Batch, now: datetime) -> Plot:
    """How many requests the provider had, and when results came."""
    until, end = extent(batch, now)
    origin = batch.started_at or now
    course = course_of(batch, now)
    for one in batch.submissions.open().filter(sent_at__isnull=False):
        at = (one.sent_at - origin).total_seconds() if one.sent_at else 0.0
        course.began[max(0, int(at / course.width))] += one.unsettled
    held = course.in_flight(until)
    most = max(level or 0 for _, level in held)
    return plot(
        "plot-throughput",
        f"Requests with the provider over {span(until)}: {most:,.0f} at the most,"
        f" {held[-1][1]:,.0f} at the end, {batch.succeeded:,} results.",
        [
            Series(
                "with the provider" if batch.finished_at else f"{held[-1][1]:,.0f} there now",
                held, stepped=True, filled=True,
            )
        ],
        start=0,
        end=end,
        across=span_ticks(end),
        at=span,
        pauses=own_pauses(batch, origin, end),
        bars=Bars("results", course.results(until)),
        now=None if batch.finished_at else until,
    )  # fmt: skip


def message_batches(batch: Batch, now: datetime) -> Timeline:
    """The newest ones that were sent; all of them where there are few."""
    sent = batch.submissions.filter(sent_at__isnull=False)
    total = sent.count()
    shown = list(sent.order_by("-sent_at", "-pk")[:SHOWN])[::-1]
    origin = batch.started_at or now
    spans = [(_after(origin, one.sent_at, now), _after(origin, _done(one), now)) for one in shown]
    start = spans[0][0] if total > SHOWN else 0.0
    end = max((done for _, done in spans), default=1.0) or 1.0
    scale = 100 / max(1e-9, end - start)
    bars = [
        Bar(
            x=round((began - start) * scale, 3),
            width=round(max(NARROWEST, (done - began) * scale), 3),
            y=HEAD + lane * LANE,
            height=BAR,
            tone=TONES.get(S(one.state), "run"),
            label=_label(one, done - began),
        )
        for lane, (one, (began, done)) in enumerate(zip(shown, spans, strict=True))
    ]
    return Timeline(
        id="plot-attempts",
        says=f"{total:,} message batch{'es' if total != 1 else ''} over {span(end - start)}.",
        height=HEAD + max(1, len(bars)) * LANE + AXIS,
        bars=bars,
        waves=[],
        across=[
            Tick((tick.at - start) * scale, tick.label)
            for tick in span_ticks(end)
            if start <= tick.at <= end
        ],
        shown=len(bars),
        total=total,
        rows=[
            _row(one, began, done)
            for one, (began, done) in list(zip(shown, spans, strict=True))[::-1]
        ],
        head=["requests", "state", "took", "not ended"],
        key=KEY,
        noun="message batches",
    )


def _done(one: Submission) -> datetime | None:
    return one.worked_at or one.ended_at


def _after(origin: datetime, moment: datetime | None, now: datetime) -> float:
    return max(0.0, ((moment or now) - origin).total_seconds())


def _label(one: Submission, seconds: float) -> str:
    number = f"{one.requests:,} request{'s' if one.requests != 1 else ''}"
    word = SHORT.get(S(one.state))
    return f"{number}, {word}" if word else f"{number}, there {whole_span(seconds)}"


def _row(one: Submission, began: float, done: float) -> list[str]:
    took = span(done - began)
    return [span(began), f"{one.requests:,}", WORDS[S(one.state)], took, f"{one.unsettled:,}"]
