"""The tries at one item, each with what it used, what came back, and where it led."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import zip_longest

from batchboard.models import Attempt, Item
from batchboard.models.looking import Returned
from batchboard.models.run_options import mode_words
from batchboard.states import ItemState
from batchboard.templatetags.figures import span
from batchboard.views.excerpt import Excerpt, excerpt
from batchboard.views.failures import said
from batchboard.views.submitted import under_way
from dispatch.outcome import Outcome

TONES = {Outcome.OK: "ok", Outcome.RATE_LIMITED: "hold", Outcome.CANCELLED: "wait"}


@dataclass(frozen=True)
class Try:
    """One attempt. `answer` is what came back of a failed one: the result stands elsewhere."""

    number: int
    attempt: Attempt
    name: str
    tone: str
    led_to: str
    returned: Excerpt | None
    stop_reason: str

    @property
    def mode(self) -> str:
        """The request mode in words; how many share a call is the batch's to say."""
        return mode_words(self.attempt.mode)


def tries(
    item: Item, attempts: Sequence[Attempt], came: Mapping[int, Returned], whole: str
) -> list[Try]:
    """Newest first."""
    return [
        _try(number, item, attempt, after, came.get(attempt.pk), whole)
        for number, (attempt, after) in enumerate(zip_longest(attempts, attempts[1:]), start=1)
    ][::-1]


def _try(
    number: int,
    item: Item,
    attempt: Attempt,
    after: Attempt | None,
    back: Returned | None,
    whole: str,
) -> Try:
    name = f"try-{attempt.pk}"
    failed = attempt.ended_at is not None and attempt.outcome != Outcome.OK
    return Try(
        number=number,
        attempt=attempt,
        name=said(attempt.outcome) if attempt.ended_at else _under_way(attempt),
        tone=TONES.get(Outcome(attempt.outcome), "dead") if attempt.outcome else "run",
        led_to=_led_to(item, attempt, after),
        returned=excerpt(name, back.text, whole == name) if back and failed else None,
        stop_reason=back.stop_reason if back else "",
    )


def _under_way(attempt: Attempt) -> str:
    return under_way(attempt.submission) if attempt.submission else "in flight"


def _led_to(item: Item, attempt: Attempt, after: Attempt | None) -> str:
    """What the routing did with the item after this try."""
    if attempt.ended_at is None:
        if attempt.submission is not None:
            return ""
        return "" if attempt.started_at else "On its way to a worker."
    if attempt.pk == item.result_id:
        return "Its answer is the result."
    if after is not None:
        return _again(item, attempt, after)
    return {
        ItemState.DEAD: "It became a dead letter: a person may send it again.",
        ItemState.CANCELLED: "The item was cancelled.",
        ItemState.WAITING: "The item waits to be tried again.",
    }.get(ItemState(item.state), "")


def _again(item: Item, attempt: Attempt, after: Attempt) -> str:
    ended = attempt.ended_at or after.granted_at
    waited = max(timedelta(), after.granted_at - ended).total_seconds()
    when = "at once" if waited < 0.1 else f"after {span(waited)}"
    if attempt.pk <= item.tries_since < after.pk:
        return f"It was sent again by a person {when}."
    wider = " with more tokens" if after.max_tokens > attempt.max_tokens else ""
    lost = ", and lost no try" if attempt.outcome == Outcome.RATE_LIMITED else ""
    return f"Tried again {when}{wider}{lost}."
