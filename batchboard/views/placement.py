"""What it means to put a batch's card into a column: the one answer for dragging, for the menu and
for the keyboard. What may follow what stands in `states.BATCH_MOVES`, and nowhere else."""

from dataclasses import dataclass

from django.urls import reverse

from batchboard.models import Batch
from batchboard.roles import NEEDED, Right
from batchboard.states import BATCH_MOVES, BatchState
from batchboard.templatetags.figures import usd
from batchboard.views.columns import BY_NAME, Column, column_of


@dataclass(frozen=True)
class Placement:
    """One column for one batch: `verb` is called or `opens` is shown where the card is put there;
    where neither is, it cannot be, and `says` is why."""

    column: Column
    says: str
    verb: str = ""
    opens: str = ""
    here: bool = False

    @property
    def possible(self) -> bool:
        return bool(self.verb or self.opens)


CALLED = {"start": ("start it", Right.OPERATE)}
"""Verbs that are called by putting a card down, what they do in words, and who may."""

OPENED = {
    "approve": ("review", "Opens its review", "review it", Right.REVIEW),
    "reject": ("review", "Opens its review", "review it", Right.REVIEW),
    "cancel": ("batch", "Opens it, to be cancelled there", "cancel it", Right.OPERATE),
}
"""Verbs that want a decision first: the page that asks for it."""

BY_ITSELF = {
    "begin": "It moves on by itself with its first call.",
    "finish": "It comes to review by itself, when every item has ended.",
    "reopen": "Its items have ended. Dead ones can be sent again on its page.",
}
"""Verbs that the engine calls, or that need more than a place."""


def placements(batch: Batch, rights: frozenset[Right]) -> list[Placement]:
    """What each column of the board means for this batch."""
    return [placement(batch, column, rights) for column in BY_NAME.values()]


def placement(batch: Batch, column: Column, rights: frozenset[Right]) -> Placement:
    here = column_of(batch.state, batch.started_at)
    if column.name == here:
        return Placement(column, "It stands here.", here=True)
    verbs = [
        verb
        for verb, move in BATCH_MOVES.items()
        if batch.state in move.sources and column_of(move.target, batch.started_at) == column.name
    ]
    for verb in verbs:
        if verb in CALLED:
            return _called(batch, column, verb, rights)
    for verb in verbs:
        if verb in OPENED:
            return _opened(batch, column, verb, rights)
    said = [BY_ITSELF[verb] for verb in verbs if verb in BY_ITSELF]
    return Placement(column, said[0] if said else _why_not(batch, column.name, here))


def _called(batch: Batch, column: Column, verb: str, rights: frozenset[Right]) -> Placement:
    does, right = CALLED[verb]
    if right not in rights:
        return Placement(column, _who_may(does, right))
    items = "1 item" if batch.total == 1 else f"{batch.total:,} items"
    return Placement(
        column, f"Starts {items}, est. {usd(batch.estimate_expected)}", verb=verb
    )  # fmt: skip


def _opened(batch: Batch, column: Column, verb: str, rights: frozenset[Right]) -> Placement:
    page, says, does, right = OPENED[verb]
    if right not in rights:
        return Placement(column, _who_may(does, right))
    return Placement(column, says, opens=reverse(page, args=[batch.public_id]))


def _who_may(does: str, right: Right) -> str:
    return f"Only {NEEDED[right]} may {does}."


def _why_not(batch: Batch, column: str, here: str) -> str:
    if here in {"released", "ended"}:
        was = "Its results were let go" if here == "released" else f"It was {batch.state}"
        return f"{was}: it stays on record as it is."
    if batch.state == BatchState.INGESTING:
        return "Its items are still coming in."
    return {
        "draft": "It was started: pause or cancel it; it cannot become a draft again.",
        "queued": "It has begun already.",
        "running": "Put it into Queued: it runs as soon as the limits allow.",
        "review": "It comes to review when every item has ended. Start it first.",
        "released": "Approve it in review first.",
        "ended": "It can be neither rejected nor cancelled now.",
    }[column]
