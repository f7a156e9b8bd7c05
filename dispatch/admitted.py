"""Writes down what a round of admission let through: conversations, items and attempts, one
statement for each."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from batchboard import rows
from batchboard.states import ItemState
from dispatch import conversations
from dispatch.calls import Call
from dispatch.conversations import Conversation

GRANT_SECONDS = 10
"""A grant that its worker did not take by then was lost on the way and counts for nothing."""

ATTEMPT = (
    "item_id", "batch_id", "worker_id", "price_id", "model", "mode", "call", "slot", "prime",
    "max_tokens", "expected_input", "expected_output", "reserved", "granted_at", "granted_until",
    "started_at", "outcome", "problem", "request_id", "cache", "session_id",
)  # fmt: skip

Chosen = Sequence[tuple[Call, Conversation | None]]
"""Calls, each with the conversation that it is a turn of."""


def write(
    chosen: Chosen, price_row: Callable[[str], int | None], now: datetime, *, granted: bool
) -> None:
    """Write these down; their parts know their attempts then."""
    _write_conversations(chosen, now)
    calls = [call for call, _ in chosen]
    rows.update_rows(
        "batchboard_item",
        ["state", "due_at", "tries+"],
        [(part.item, ItemState.RUNNING.value, None, 1) for call in calls for part in call.parts],
    )
    until = now + timedelta(seconds=GRANT_SECONDS) if granted else None
    started_at = None if granted else now
    # What belongs to the call as a whole stands with the first of its items.
    inserted = rows.insert_rows(
        "batchboard_attempt",
        ATTEMPT,
        [
            (part.item, call.batch, call.worker, price_row(call.model), call.model,
             call.mode, call.number, int(first), call.prime, call.max_tokens,
             call.expected_input if first else 0, call.expected_output if first else 0,
             part.reserved, now, until, started_at, "", "", "", call.cache, call.session)
            for call in calls
            for part, first in zip(call.parts, _first_of(call), strict=True)
        ],
        returning="id, item_id",
    )  # fmt: skip
    ids = {item: attempt for attempt, item in inserted}
    for call in calls:
        for part in call.parts:
            part.attempt = ids[part.item]


def _write_conversations(chosen: Chosen, now: datetime) -> None:
    begun = [(call.batch, one) for call, one in chosen if one and one.id is None]
    if begun:
        conversations.write(begun, now)
    for call, one in chosen:
        call.session = one.id if one else None


def _first_of(call: Call) -> list[bool]:
    return [number == 0 for number in range(len(call.parts))]
