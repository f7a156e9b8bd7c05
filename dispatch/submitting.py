"""What puts items into submissions, within one decision of the governor.

A submission takes no slot and nothing of the token buckets; it takes money, at half the price. It
is filled in steps, so that no decision holds the lock for long, and is ready to be sent once
nothing more fits or nothing more waits.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice

from batchboard import rows
from batchboard.models import Submission
from batchboard.money import dollars
from batchboard.states import ItemState, SubmissionState
from dispatch.contender import Contender
from dispatch.deciding import Deciding
from dispatch.live import Live
from dispatch.modes.queued import Queued

MOST_REQUESTS = 10_000
MOST_BYTES = 64_000_000
"""Of the prompts of one submission. The provider takes 100,000 requests and 256 MB; smaller ones
end sooner, are lost sooner, and are built on a modest machine."""

STEP = 1_000
"""Items that one decision puts into one submission."""

STEP_SECONDS = 0.2
GATHER_SECONDS = 60.0
"""What is due again so soon goes with the rest: a message batch of its own may take a day."""

CHUNK = 500

ATTEMPT = (
    "item_id", "batch_id", "worker_id", "price_id", "model", "mode", "call", "slot", "prime",
    "max_tokens", "expected_input", "expected_output", "reserved", "granted_at", "outcome",
    "problem", "request_id", "cache", "submission_id",
)  # fmt: skip


@dataclass(slots=True)
class Request:
    """An item that was let through: its output tokens and its worst case (units)."""

    item: Queued
    max_tokens: int
    reserved: int


@dataclass(slots=True)
class Filling:
    """One submission of one batch, as this decision fills it."""

    contender: Contender
    row: Submission
    price: int | None
    taken: list[Request] = field(default_factory=list)

    def has_room_for(self, size: int) -> bool:
        row = self.row
        return row.requests < MOST_REQUESTS and row.bytes + size <= MOST_BYTES

    def take(self, request: Request, size: int) -> None:
        self.taken.append(request)
        self.row.requests += 1
        self.row.unsettled += 1
        self.row.bytes += size
        self.row.reserved += dollars(request.reserved)


class Submitting:
    """The submissions that one decision fills."""

    def __init__(self, made: Deciding, live: Live) -> None:
        self.made = made
        self.live = live
        self.filled: list[Filling] = []

    def fill(
        self,
        contender: Contender,
        price: int | None,
        worst: Callable[[Queued], Request],
        affords: Callable[[int], bool],
    ) -> bool:
        """Put what fits into the batch's submission. Whether more would go into the same or the
        next one, if it were asked again in a moment.

        While results of an earlier one come in nothing is begun: what of it goes again would be
        scattered over many.
        """
        unended = list(Submission.objects.open().filter(batch=contender.row.id))
        if any(one.state == SubmissionState.COLLECTING for one in unended):
            return False
        preparing = [one for one in unended if one.state == SubmissionState.PREPARING]
        filling = Filling(contender, preparing[0] if preparing else self._new(contender), price)
        full = gathers = False
        for _ in range(STEP):
            items = contender.next(STEP)
            if not items:
                gathers = self._more_is_due_soon(contender)
                break
            if contender.obstacle(self.live) is not None:
                break
            size = contender.bound(items)
            full = bool(filling.row.requests) and not filling.has_room_for(size)
            request = worst(items[0])
            if full or not affords(request.reserved):
                break
            filling.take(request, size)
            contender.take(1, request.reserved)
        else:
            self.filled.append(filling)
            return True
        if filling.row.requests:
            if not gathers:
                filling.row.state = SubmissionState.READY
            self.filled.append(filling)
        return full

    def write(self) -> None:
        """Write submissions and their attempts, and that their items are under way."""
        for filling in self.filled:
            if filling.row._state.adding:
                filling.row.save()
            else:
                filling.row.save(
                    update_fields=["state", "requests", "unsettled", "bytes", "reserved"]
                )
            requests = iter(filling.taken)
            while chunk := list(islice(requests, CHUNK)):
                self._write(filling, chunk)

    def _more_is_due_soon(self, contender: Contender) -> bool:
        due = contender.next_due()
        return due is not None and due <= self.made.now + timedelta(seconds=GATHER_SECONDS)

    def _new(self, contender: Contender) -> Submission:
        return Submission(batch_id=contender.row.id, created_at=self.made.now)

    def _write(self, filling: Filling, requests: list[Request]) -> None:
        contender, row, now = filling.contender, filling.row, self.made.now
        rows.update_rows(
            "batchboard_item",
            ["state", "due_at", "tries+"],
            [(one.item.id, ItemState.RUNNING.value, None, 1) for one in requests],
        )
        rows.insert_rows(
            "batchboard_attempt",
            ATTEMPT,
            [
                (one.item.id, contender.row.id, None, filling.price, contender.work.model,
                 contender.row.mode, self.made.number(), 0, False, one.max_tokens, 0, 0,
                 one.reserved, now, "", "", "", contender.cache, row.pk)
                for one in requests
            ],
        )  # fmt: skip
