"""How an attempt can end, and where each ending sends its item: a closed set and one table."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    OK = "ok"  # an answer that meets the contract
    RATE_LIMITED = "rate_limited"  # 429 with a time to wait, or a ramp limit
    OVERLOADED = "overloaded"  # 529: the provider's own load, not ours
    SERVER = "server"  # any other 5xx
    NETWORK = "network"  # the connection failed or broke
    TIMEOUT = "timeout"  # our own limit on one call
    CONTRACT = "contract"  # not JSON, or not what the schema says
    MISSING = "missing"  # the answer to several items holds none, or no single one, for it
    TRUNCATED = "truncated"  # cut off at max_tokens
    REFUSED = "refused"  # the model declined
    INVALID = "invalid"  # 400 or 413: the same again would fail again
    UNAUTHORISED = "unauthorised"  # 401, 403, or a model that the key may not use
    SPEND_CAP = "spend_cap"  # 402, or the provider's spend limit
    LOST = "lost"  # its worker died or was cut off, or the provider's results hold none for it
    EXPIRED = "expired"  # the provider's time for its message batch was over
    CANCELLED = "cancelled"  # a person ended the batch
    UNKNOWN = "unknown"  # anything else


class Action(StrEnum):
    SUCCEED = "succeed"
    WAIT = "wait"  # again when the limit clears; no try is lost
    RETRY = "retry"  # again after a growing, jittered delay
    AGAIN = "again"  # again at once: the answer was at fault, not the way to it
    BURY = "bury"  # dead letter
    BLOCK = "block"  # the item waits, and the batch stands still until a person acts
    CANCEL = "cancel"


TRANSIENT = frozenset({Outcome.OVERLOADED, Outcome.SERVER, Outcome.NETWORK, Outcome.TIMEOUT})


@dataclass(frozen=True, slots=True)
class Route:
    """Where an outcome sends an item: `action` up to `times` in all for outcomes that `share` the
    count, then the dead letters."""

    action: Action
    says: str
    times: int = 0
    share: frozenset[Outcome] = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of an item: an action, and the seconds until it may be called again."""

    action: Action
    delay: float = 0.0


ROUTES: Mapping[Outcome, Route] = {
    Outcome.OK: Route(Action.SUCCEED, "The answer is the item's result."),
    Outcome.RATE_LIMITED: Route(
        Action.WAIT,
        "Every batch on the model pauses until the provider's time is over, unless its headers say"
        " that no limit is used up; the item loses no try.",
        times=50,
        share=frozenset({Outcome.RATE_LIMITED}),
    ),
    **dict.fromkeys(
        sorted(TRANSIENT),
        Route(
            Action.RETRY,
            "Tried again, twice at the most, after a growing delay."
            " While the provider answers no call at all, no try is counted.",
            times=2,
            share=TRANSIENT,
        ),
    ),
    Outcome.CONTRACT: Route(
        Action.AGAIN, "Regenerated once.", times=1, share=frozenset({Outcome.CONTRACT})
    ),
    Outcome.MISSING: Route(
        Action.AGAIN, "Once more in a call of its own.", times=1, share=frozenset({Outcome.MISSING})
    ),
    Outcome.TRUNCATED: Route(
        Action.AGAIN,
        "Once more with twice the tokens, if the budget allows.",
        times=1,
        share=frozenset({Outcome.TRUNCATED}),
    ),
    Outcome.REFUSED: Route(Action.BURY, "The model declined; the same again would be declined."),
    Outcome.INVALID: Route(Action.BURY, "The request is at fault; the same again would fail."),
    Outcome.UNAUTHORISED: Route(
        Action.BLOCK, "The batch stands still after one such call; nothing else is sent."
    ),
    Outcome.SPEND_CAP: Route(
        Action.BLOCK, "The batch stands still after one such call; nothing else is sent."
    ),
    Outcome.LOST: Route(
        Action.WAIT,
        "Its worker died, or its result never came; the item waits again.",
        times=20,
        share=frozenset({Outcome.LOST}),
    ),
    Outcome.EXPIRED: Route(
        Action.WAIT,
        "The provider did not get to it in time; the item waits for another message batch.",
        times=3,
        share=frozenset({Outcome.EXPIRED}),
    ),
    Outcome.CANCELLED: Route(Action.CANCEL, "A person cancelled the batch."),
    Outcome.UNKNOWN: Route(Action.BURY, "Nobody knows what this means; a person should look."),
}

BACKOFF_SECONDS = 1.0
BACKOFF_LIMIT_SECONDS = 60.0


def decide(outcome: Outcome, earlier: Mapping[str, int], chance: random.Random) -> Decision:
    """Where an item goes whose attempt ended with `outcome`.

    `earlier` counts how its attempts before this one ended, since a person last sent it again.
    """
    route = ROUTES[outcome]
    if not route.times:
        return Decision(route.action)
    before = sum(earlier.get(other, 0) for other in route.share)
    if before >= route.times:
        return Decision(Action.BURY)
    if route.action is not Action.RETRY:
        return Decision(route.action)
    longest = min(BACKOFF_LIMIT_SECONDS, BACKOFF_SECONDS * 2**before)
    return Decision(Action.RETRY, longest * chance.uniform(0.5, 1.0))
