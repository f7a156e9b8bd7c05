"""An outage: so many calls to a model came to nothing, one after another, that the provider is at
fault and not the items.

Then every batch on the model waits, no item loses a try, and one call at a time asks whether the
provider answers again: every few seconds at first, every minute later on. Calls that ran into our
own timeout do not count, since it may simply be too short.
"""

from collections.abc import Sequence
from datetime import timedelta

from batchboard.models import Event
from batchboard.states import Wait
from dispatch.buckets import Buckets
from dispatch.calls import Finished
from dispatch.deciding import Deciding
from dispatch.outcome import Outcome

CALLS = 20
FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(seconds=60)
PAUSE_SHARE = 0.25
"""A pause lasts so much of the time that the outage has lasted."""

WAITS = {
    Outcome.OVERLOADED: Wait.OVERLOADED,
    Outcome.SERVER: Wait.SERVER_FAILS,
    Outcome.NETWORK: Wait.UNREACHABLE,
}
TELLS_NOTHING = frozenset({Outcome.TIMEOUT, Outcome.RATE_LIMITED, Outcome.LOST, Outcome.CANCELLED})


def count(buckets: Buckets, finished: Sequence[Finished]) -> None:
    """Take in how calls to one model ended: an outage begins, goes on, or is over."""
    row = buckets.row
    for one in finished:
        outcome = one.reply.outcome
        if outcome in WAITS:
            row.unanswered += 1
            row.unanswered_as = outcome.value
            row.unanswered_since = row.unanswered_since or one.started_at or buckets.now
        elif outcome not in TELLS_NOTHING and row.unanswered:
            _over(buckets)
    if row.unanswered < CALLS:
        return
    if not row.in_outage:
        row.in_outage = True
        _tell(buckets, "limits.outage")
        _pause(buckets)


def spares(made: Deciding, model: str, outcome: Outcome) -> bool:
    """Whether an attempt that ended so costs its item no try."""
    return outcome in WAITS and made.buckets(model).row.in_outage


def wait_for(buckets: Buckets) -> Wait:
    """What batches on the model wait for while it is paused."""
    if not buckets.row.in_outage:
        return Wait.PROVIDER_PAUSE
    return WAITS[Outcome(buckets.row.unanswered_as)]


def asked(buckets: Buckets) -> None:
    """A call was let through: in an outage the next one waits for its answer, or for its turn."""
    if buckets.row.in_outage:
        _pause(buckets)


def _pause(buckets: Buckets) -> None:
    since = buckets.row.unanswered_since or buckets.now
    lasted = (buckets.now - since) * PAUSE_SHARE
    buckets.pause(min(max(lasted, FIRST_PAUSE), LONGEST_PAUSE).total_seconds())


def _over(buckets: Buckets) -> None:
    row = buckets.row
    if row.in_outage:
        row.paused_until = None
        _tell(buckets, "limits.answered")
    row.unanswered, row.unanswered_as, row.unanswered_since = 0, "", None
    row.in_outage = False


def _tell(buckets: Buckets, verb: str) -> None:
    row = buckets.row
    since = row.unanswered_since or buckets.now
    Event.objects.record(
        verb,
        model=row.model,
        outcome=row.unanswered_as,
        seconds=round((buckets.now - since).total_seconds()),
    )
