"""The states of batches, items and message batches, and the moves that are legal for the first two.

This is the only place that says what may follow what. A move is made by a verb of a model, as one
conditional UPDATE over `sources`; how many rows it changed says who won. The engine moves many
items in statements of its own, and a test that asks the database holds them to this table.
"""

from dataclasses import dataclass
from enum import StrEnum


class BatchState(StrEnum):
    INGESTING = "ingesting"  # its items are coming in: nothing can be done with it yet
    DRAFT = "draft"  # being put together: nothing was sent
    QUEUED = "queued"  # started, and waits for its first call
    RUNNING = "running"  # at least one call was let through
    PAUSED = "paused"  # a person stopped it: calls in flight end, none begins
    REVIEW = "review"  # every item ended; a person judges the sample
    APPROVED = "approved"  # a person let the results go
    RELEASED = "released"  # results may leave
    REJECTED = "rejected"  # a person refused the results
    CANCELLED = "cancelled"  # a person ended it


def standing(state: str) -> str:
    """A batch's state as it follows "is" in a sentence."""
    return "in review" if state == BatchState.REVIEW else state


class ItemState(StrEnum):
    WAITING = "waiting"  # may be called, now or at its time
    RUNNING = "running"  # has a live attempt
    SUCCEEDED = "succeeded"  # has a result that meets the contract
    DEAD = "dead"  # will not be tried again by itself
    CANCELLED = "cancelled"  # a person ended it


class SubmissionState(StrEnum):
    """Where a message batch of the provider stands."""

    PREPARING = "preparing"  # items are put into it
    READY = "ready"  # waits to be sent
    SENDING = "sending"  # may have been created: nobody may send it again before that is known
    WORKING = "working"  # with the provider
    COLLECTING = "collecting"  # worked through: its results are read
    ENDED = "ended"  # every request of it ended
    FAILED = "failed"  # the provider took none of it


class Block(StrEnum):
    """Why a running batch stands still until a person acts."""

    BUDGET = "budget"  # the batch's own budget is spent
    CEILING = "ceiling"  # the installation's ceiling is spent
    FIRST_LOOK = "first_look"  # the first N are done and wait for a look
    DEADLINE = "deadline"  # the batch's time is over
    KEY_REFUSED = "key_refused"  # the provider refused the key or the model
    UNPRICED = "unpriced"  # no price of the model is known, and nobody chose to go without
    SPEND_CAP = "spend_cap"  # the provider's own spend limit is reached


class Wait(StrEnum):
    """What a batch that could go on waits for; it clears by itself."""

    SLOT = "slot"  # all slots of the cap are taken
    REQUESTS = "rpm"  # the model's requests per minute
    INPUT_TOKENS = "itpm"  # its input tokens per minute
    OUTPUT_TOKENS = "otpm"  # its output tokens per minute
    PROVIDER_PAUSE = "provider_pause"  # the provider answered 429: all on the model wait
    OVERLOADED = "overloaded"  # an outage: the provider answers 529
    SERVER_FAILS = "server_fails"  # an outage: the provider answers 5xx
    UNREACHABLE = "unreachable"  # an outage: no connection to the provider
    MONEY = "money"  # what is left is held for calls in flight, which may cost less
    BACKOFF = "backoff"  # every item that waits was tried, and is due again later
    CACHE = "cache"  # the call that writes the shared context goes first and alone
    WAVE = "wave"  # the rest of the present wave
    WORKER = "worker"  # no worker takes calls
    PAUSED_ALL = "paused_all"  # a person paused everything
    PROVIDER = "provider"  # message batches are with the provider


@dataclass(frozen=True)
class Move:
    """A legal change of state: from any of `sources` to `target`."""

    verb: str
    sources: frozenset[str]
    target: str


def _moves(*rows: tuple[str, tuple[str, ...], str]) -> dict[str, Move]:
    return {verb: Move(verb, frozenset(sources), target) for verb, sources, target in rows}


B = BatchState
BATCH_MOVES = _moves(
    ("arrive", (B.INGESTING,), B.DRAFT),
    ("start", (B.DRAFT,), B.QUEUED),
    ("begin", (B.QUEUED,), B.RUNNING),
    ("pause", (B.QUEUED, B.RUNNING), B.PAUSED),
    ("resume", (B.PAUSED,), B.RUNNING),
    ("requeue", (B.PAUSED,), B.QUEUED),
    ("finish", (B.QUEUED, B.RUNNING, B.PAUSED), B.REVIEW),
    ("reopen", (B.REVIEW,), B.RUNNING),
    ("approve", (B.REVIEW,), B.APPROVED),
    ("release", (B.APPROVED,), B.RELEASED),
    ("reject", (B.REVIEW,), B.REJECTED),
    ("cancel", (B.DRAFT, B.QUEUED, B.RUNNING, B.PAUSED, B.REVIEW), B.CANCELLED),
)

I = ItemState  # noqa: E741 - the table below reads better with one letter
ITEM_MOVES = _moves(
    ("claim", (I.WAITING,), I.RUNNING),
    ("succeed", (I.RUNNING,), I.SUCCEEDED),
    ("bury", (I.RUNNING,), I.DEAD),
    ("return", (I.RUNNING,), I.WAITING),
    ("revive", (I.DEAD,), I.WAITING),
    ("cancel", (I.WAITING, I.RUNNING), I.CANCELLED),
)

OPEN_BATCH = frozenset({B.QUEUED, B.RUNNING})
"""States in which the governor may let calls of a batch through."""

UNFINISHED_BATCH = OPEN_BATCH | {B.PAUSED}


class MoveRefused(Exception):
    """A verb that the present state, or the gate, does not allow; the message says what would."""
