"""Attempts as they end: what each item got of the tokens and the cost of its call."""

from collections.abc import Sequence
from dataclasses import dataclass

from batchboard.models.ledger_day import Line
from batchboard.money import share_out
from batchboard.pricing import Usage
from dispatch.calls import Finished, Part, PartReply, cost_at
from dispatch.outcome import Action, Decision
from dispatch.versions import work_of

NOTHING = Usage()


@dataclass(slots=True)
class Ended:
    """One attempt as it ends: the item's share of its call's tokens and cost (units)."""

    finished: Finished
    part: Part
    reply: PartReply
    usage: Usage | None
    cost: int | None
    decision: Decision = Decision(Action.BURY)  # noqa: RUF009 - frozen

    @property
    def batch(self) -> int:
        return self.finished.call.batch

    @property
    def latency_ms(self) -> int:
        return round(self.finished.reply.latency * 1000)

    @property
    def problem(self) -> str:
        return storable(self.reply.problem[:300])

    @property
    def line(self) -> Line:
        call = self.finished.call
        bound = None if call.rates is None else self.part.reserved
        return Line(call.batch, call.model, call.mode, self.used.by_kind, self.cost, bound)

    @property
    def used(self) -> Usage:
        return self.usage or NOTHING


def ended_parts(finished: Finished) -> list[Ended]:
    """Share a call's tokens out among its items, to the last one: what was sent by the size of
    each prompt and an equal part of what all share, the answer by what each got of it. Costs
    follow from the tokens, and so add up to what the call costs."""
    call, usage, count = finished.call, finished.reply.usage, len(finished.parts)
    shares: list[Usage | None] = [None] * count
    costs: list[int | None] = [None] * count
    if usage is not None and count == 1:
        shares, costs = [usage], [cost_at(call.rates, usage)]
    elif usage is not None:
        shared = work_of(call.version).shared_bytes // count + 1
        sent = [part.prompt_bytes + shared for part in call.parts]
        got = [len(part.text or "") + 1 for part in finished.parts]
        by_kind = [
            share_out(usage.input, sent), share_out(usage.output, got),
            share_out(usage.cache_write_5m, sent), share_out(usage.cache_write_1h, sent),
            share_out(usage.cache_read, sent),
        ]  # fmt: skip
        each = [Usage(*share) for share in zip(*by_kind, strict=True)]
        applied = call.rates.applied(usage) if call.rates else None
        shares, costs = list(each), [cost_at(applied, share) for share in each]
    return [
        Ended(finished, *columns)
        for columns in zip(call.parts, finished.parts, shares, costs, strict=True)
    ]


def calls_among(ended: Sequence[Ended]) -> list[Finished]:
    """The calls that these attempts are parts of, each once."""
    return list({part.finished.call.number: part.finished for part in ended}.values())


def storable(text: str) -> str:
    """Text as every database takes it: no NUL, and no half of a character that was cut off."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}").encode(errors="replace").decode()
