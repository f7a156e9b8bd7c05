"""What passes between governor, runner and recorder: calls, and how they ended."""

from dataclasses import asdict, dataclass, field
from datetime import datetime

from batchboard.pricing import Rates, Usage
from dispatch.outcome import Outcome


@dataclass(slots=True)
class Part:
    """One item's share of a call: its attempt, and what it was sent with."""

    attempt: int
    item: int
    key: str
    prompt_bytes: int
    reserved: int = 0
    """Its share of what is held for the call."""


@dataclass(slots=True)
class Call:
    """One provider request that may be sent: leased, paid for in advance, not yet sent."""

    number: int
    worker: int
    batch: int
    public_id: str
    """The batch's, as people know it."""

    version: int
    model: str
    mode: str
    max_tokens: int
    timeout: float
    rates: Rates | None
    """None where it runs unpriced: its cost will be unknown."""

    reserved: int
    """Units of money held for it, its worst case."""

    expected_input: int
    expected_output: int
    """Tokens that were taken from the model's buckets for it."""

    parts: list[Part]
    prime: bool = False
    """Whether others wait for this call's answer to begin, because it writes their cache."""

    cache: str = ""
    """How long what it writes to the provider's cache lives; empty where it writes nothing."""

    salt: str = ""
    session: int | None = None
    """The conversation that it is a turn of."""

    context_bytes: int = 0
    """What the conversation holds already."""

    last: bool = False
    """Whether no turn of the conversation follows."""


@dataclass(slots=True)
class Told:
    """What the headers of an answer say of the provider's limits on its model."""

    rpm: int | None = None
    itpm: int | None = None
    otpm: int | None = None
    exhausted: bool | None = None
    """On a 429: whether one of the limits is used up; None where the answer does not say."""


@dataclass(slots=True)
class Reply:
    """How one provider request ended. `usage` is None, and the cost unknown, where the request may
    have been worked on and no answer says what it used."""

    outcome: Outcome
    problem: str = ""
    text: str | None = None
    stop_reason: str = ""
    usage: Usage | None = None
    status: int | None = None
    request_id: str = ""
    latency: float = 0.0
    retry_after: float | None = None
    told: Told = field(default_factory=Told)


@dataclass(slots=True)
class PartReply:
    """How one item's share of a call ended."""

    outcome: Outcome
    problem: str = ""
    text: str | None = None


@dataclass(slots=True)
class Finished:
    """A call that ended, to be recorded."""

    call: Call
    reply: Reply
    parts: list[PartReply]
    started_at: datetime

    def unrecordable(self, error: Exception) -> "Finished":
        """The same call, as one of which nothing is known but that its record failed."""
        problem = f"Its answer could not be recorded: {type(error).__name__}."
        parts = [PartReply(Outcome.UNKNOWN, problem) for _ in self.parts]
        return Finished(self.call, Reply(Outcome.UNKNOWN, problem), parts, self.started_at)


@dataclass(slots=True)
class Began:
    """The answer of a call that others wait for began: what it wrote to the cache can be read."""

    call: Call


def cost_at(rates: Rates | None, usage: Usage) -> int | None:
    """Units that `usage` costs; None, unknown, without rates. Nothing used costs nothing at any
    price."""
    if rates is None:
        return None if any(asdict(usage).values()) else 0
    return rates.cost(usage)
