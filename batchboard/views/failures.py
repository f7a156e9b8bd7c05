"""What went wrong in a batch, by outcome, with what the routing did about it."""

from dataclasses import dataclass

from django.db.models import Count, Min

from batchboard.models import Batch
from dispatch.outcome import ROUTES, Action, Outcome, Route

NAMES = {
    Outcome.OK: "ok",
    Outcome.RATE_LIMITED: "rate limited (429)",
    Outcome.OVERLOADED: "overloaded (529)",
    Outcome.SERVER: "server error (5xx)",
    Outcome.NETWORK: "connection failed",
    Outcome.TIMEOUT: "timed out",
    Outcome.CONTRACT: "contract not met",
    Outcome.MISSING: "missing in the answer to several",
    Outcome.TRUNCATED: "cut off at max_tokens",
    Outcome.REFUSED: "refused by the model",
    Outcome.INVALID: "invalid request",
    Outcome.UNAUTHORISED: "key refused",
    Outcome.SPEND_CAP: "provider's spend limit",
    Outcome.LOST: "lost on the way",
    Outcome.EXPIRED: "expired with the provider",
    Outcome.CANCELLED: "cancelled",
    Outcome.UNKNOWN: "unknown",
}
MARKS = {
    Action.WAIT: ("pause", "hold"),
    Action.RETRY: ("again", "hold"),
    Action.AGAIN: ("again", "hold"),
    Action.BURY: ("cross", "dead"),
    Action.BLOCK: ("alert", "person"),
    Action.CANCEL: ("cross", "wait"),
}


@dataclass(frozen=True)
class Failure:
    """Attempts that ended alike: how many, how many items died of it, and what was done."""

    outcome: str
    name: str
    attempts: int
    dead: int
    says: str
    icon: str
    tone: str


def failures(batch: Batch) -> list[Failure]:
    """By outcome, in the order in which they first came: on a page that is open, a new one moves
    none that is read."""
    dead = dict(batch.items.dead().order_by().values_list("outcome").annotate(n=Count("id")))
    by_outcome = batch.attempts.failed().order_by().values_list("outcome")
    rows = by_outcome.annotate(n=Count("id"), first=Min("ended_at")).order_by("first", "outcome")
    return [_failure(outcome, attempts, dead.get(outcome, 0)) for outcome, attempts, _ in rows]


@dataclass(frozen=True)
class Routed:
    """Outcomes that send an item the same way, and which way that is."""

    name: str
    says: str
    icon: str
    tone: str


def routing() -> list[Routed]:
    """The whole table of what becomes of an item whose call did not succeed."""
    alike: dict[Route, list[str]] = {}
    for outcome, name in NAMES.items():
        if outcome is not Outcome.OK:
            alike.setdefault(ROUTES[outcome], []).append(name)
    return [
        Routed(_capitalised(", ".join(names)), route.says, *MARKS[route.action])
        for route, names in alike.items()
    ]


def said(outcome: str) -> str:
    """An outcome in words."""
    return NAMES[_known(outcome)]


def _failure(outcome: str, attempts: int, dead: int) -> Failure:
    route = ROUTES[_known(outcome)]
    icon, tone = ("cross", "dead") if dead else MARKS[route.action]
    return Failure(outcome, _capitalised(said(outcome)), attempts, dead, route.says, icon, tone)


def _capitalised(words: str) -> str:
    return words[0].upper() + words[1:]


def _known(outcome: str) -> Outcome:
    return Outcome(outcome) if outcome in list(Outcome) else Outcome.UNKNOWN
