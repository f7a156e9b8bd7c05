"""The adaptive cap: falls by a fifth on a rate limit of ours, and grows back when it may.

A 429 pauses every batch on its model until the provider's time is over. An episode is one cut of
the cap, however many calls meet the same limit: only a call that began after the last cut tells
anything new. A 429 whose headers say that no limit is used up was not for us: its item waits as
long as it was told to, and nothing else does.
"""

from collections.abc import Sequence

from batchboard.models import Event, Limits
from dispatch.buckets import Buckets
from dispatch.calls import Finished
from dispatch.outcome import Outcome

CUT = 0.8
STEP = 0.05
CLEAN_ROUNDS = 8
"""How many times the cap's worth of calls must be answered well before it grows by a step."""

PAUSE_SECONDS = 1.0
"""How long to wait after a 429 that does not say."""


def answer(limits: Limits, buckets: Buckets, finished: Sequence[Finished], in_flight: int) -> None:
    """Take in how a group of calls to one model ended, of `in_flight` that there were: pause, cut,
    or count towards growth."""
    for one in finished:
        if one.reply.outcome is Outcome.RATE_LIMITED:
            _limited(limits, buckets, one, in_flight)
        elif one.reply.outcome is Outcome.OK:
            limits.clean_calls += 1
        elif one.reply.outcome in {Outcome.OVERLOADED, Outcome.SERVER}:
            limits.clean_calls = 0


def grow(limits: Limits, used: int) -> None:
    """Grow the cap by a step after enough clean rounds that really `used` it."""
    cap = limits.cap_in_force
    if limits.cap_factor < 1 and limits.clean_calls >= CLEAN_ROUNDS * cap and used >= cap:
        limits.cap_factor = min(1.0, limits.cap_factor + max(STEP, 1 / limits.cap))
        Event.objects.record("limits.grew", before=cap, after=limits.cap_in_force)
        limits.clean_calls = 0
        limits.cap_reason = (
            "" if limits.cap_factor == 1 else f"growing back, from {cap} to {limits.cap_in_force}"
        )


def _limited(limits: Limits, buckets: Buckets, one: Finished, in_flight: int) -> None:
    if one.reply.told.exhausted is False:
        return
    seconds = one.reply.retry_after
    buckets.pause(PAUSE_SECONDS if seconds is None else seconds)
    if buckets.row.episode_at is not None and one.started_at <= buckets.row.episode_at:
        return
    buckets.row.episode_at = buckets.now
    before = limits.cap_in_force
    limits.cap_factor = max(1, min(before - 1, CUT * min(before, in_flight))) / limits.cap
    limits.clean_calls = 0
    limits.cap_changed_at = buckets.now
    limits.cap_reason = f"cut from {before} to {limits.cap_in_force} by a 429"
    Event.objects.record(
        "limits.cut",
        before=before,
        after=limits.cap_in_force,
        model=one.call.model,
        seconds=seconds,
    )
