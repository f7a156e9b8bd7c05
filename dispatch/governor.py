"""The governor: decides, for all batches together, which calls may be sent now.

Every decision is made under one lock, from what the database says at that moment: free slots, what
is left in the model's token buckets, and what is left of the money. What fits is leased and its
worst-case cost reserved in that same transaction, so that at no instant more is in flight, and
never more is spent, than the limits allow, however many processes ask.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from hashlib import sha256

from django.db import transaction

from batchboard import rows, signals
from batchboard.models import Batch, Limits, Price
from batchboard.models.prices import Applied, applied, why_not
from batchboard.money import dollars, share_out, units
from batchboard.pricing import Rates
from batchboard.states import BatchState, Block, ItemState, Wait
from dispatch import conversations, outage
from dispatch.buckets import WAITS, Need
from dispatch.calls import Call, Part
from dispatch.contender import Contender, contenders
from dispatch.conversations import Conversation
from dispatch.deciding import Deciding
from dispatch.live import Live
from dispatch.modes.queued import Queued
from dispatch.submitting import STEP_SECONDS, Request, Submitting

GRANT_SECONDS = 10
"""A grant that its worker did not take by then was lost on the way and counts for nothing."""

OVERHEAD_TOKENS = 1_000
"""What a request may weigh beyond the bytes that we send: the provider's own framing, and the
instructions that it adds for structured output."""

MAX_TOKENS = 128_000

ATTEMPT = (
    "item_id", "batch_id", "worker_id", "price_id", "model", "mode", "call", "slot", "prime",
    "max_tokens", "expected_input", "expected_output", "reserved", "granted_at", "granted_until",
    "started_at", "outcome", "problem", "request_id", "cache", "session_id",
)  # fmt: skip


@dataclass(slots=True)
class Target:
    """A worker that calls may go to, and for how many it has room."""

    worker: int
    room: int


@dataclass(slots=True)
class Admission:
    """What was let through, and after how many seconds asking again is worth it (None: not by
    time alone)."""

    calls: list[Call] = field(default_factory=list)
    retry_in: float | None = None

    def retry_after(self, seconds: float) -> None:
        self.retry_in = seconds if self.retry_in is None else min(self.retry_in, seconds)


def admit(made: Deciding, targets: Sequence[Target], live: Live, *, granted: bool) -> Admission:
    """Let through what fits, and write it down: attempts, item states, waits.

    `granted` calls travel to their worker in a message and expire if it is lost; others are begun
    by the caller at once, and leave submissions to who grants.
    """
    round_ = _Round(made, targets, live, submits=granted)
    round_.choose()
    return round_.write(granted=granted)


def fair_room(limits: Limits, live: Live, worker: int, workers: int) -> int:
    """How many calls a worker may take for itself: its share of the cap, less what it holds.

    The rest is the pump's to spread, so that no worker keeps all slots while another is idle.
    """
    share = -(-limits.cap_in_force // max(1, workers))
    return max(0, share - live.by_worker[worker])


class _Round:
    """One round of admission, within one decision."""

    def __init__(
        self, made: Deciding, targets: Sequence[Target], live: Live, *, submits: bool
    ) -> None:
        self.made = made
        self.limits = made.limits
        self.now = made.now
        self.live = live
        self.targets = [target for target in targets if target.room > 0]
        room = sum(target.room for target in self.targets)
        self.free = min(self.limits.cap_in_force - live.slots, room)
        self.contenders = [
            one
            for one in contenders(live, self.limits, self.now)
            if submits or not one.mode.submits
        ]
        self.submitting = Submitting(made, live)
        self.chosen: list[tuple[Call, Conversation | None]] = []
        self.result = Admission()
        self.binds = ""
        self.prices: dict[str, Applied | None] = {}
        ceiling = self.limits.configured("budget")
        self.money = (
            None if ceiling is None
            else units(ceiling - self.limits.spent(self.now)) - live.reserved
        )  # fmt: skip

    def choose(self) -> None:
        """Deal out slots one by one: the batch with the fewest in flight is served first."""
        line = [(*contender.order, contender) for contender in self.contenders]
        heapq.heapify(line)
        chunk = max(1, -(-max(0, self.free) // max(1, len(line))))
        while line:
            contender = heapq.heappop(line)[-1]
            if self._serve(contender, chunk):
                heapq.heappush(line, (*contender.order, contender))

    def _serve(self, contender: Contender, chunk: int) -> bool:
        """Choose one call of this batch if everything allows it; else note what it waits for."""
        if self.limits.paused:
            contender.waits = Wait.PAUSED_ALL
            return False
        contender.block = contender.stands_still()
        if contender.block or contender.mode.submits:
            self._submit(contender)
            return False
        if self.free <= 0:
            self._no_slot(contender)
            return False
        items = contender.next(chunk)
        if not items:
            self._nothing_ready(contender)
            return False
        obstacle = contender.obstacle(self.live)
        if obstacle is not None:
            contender.waits = "" if obstacle is Wait.SLOT else obstacle
            return False
        return self._within_limits(contender, items)

    def _submit(self, contender: Contender) -> None:
        """Put what the money allows into the batch's submission; it needs neither slot nor
        tokens of the model's buckets."""
        if contender.block or not self._may_cost(contender):
            return
        price = self._price(contender.work.model)
        half = None if price is None else price.halved()

        def worst(item: Queued) -> Request:
            return Request(item, *self._worst(contender, [item], half.rates if half else None))

        def affords(reserved: int) -> bool:
            affordable = self._affordable(contender, reserved)
            if affordable:
                self._hold(reserved)
            return affordable

        row = None if half is None else _price_row(contender.work.model, half)
        if self.submitting.fill(contender, row, worst, affords):
            self.result.retry_after(STEP_SECONDS)
        if contender.waits or contender.block:
            return
        self._nothing_ready(contender)
        if contender.in_flight:
            contender.waits = Wait.PROVIDER

    def _no_slot(self, contender: Contender) -> None:
        if not contender.in_flight:
            contender.waits = Wait.SLOT if self.targets or self.live.slots else Wait.WORKER
        self.binds = self.binds or ("cap" if self.limits.cap_in_force <= self.live.slots else "")

    def _nothing_ready(self, contender: Contender) -> None:
        due = contender.next_due()
        if due is not None:
            self.result.retry_after(max(0.01, (due - self.now).total_seconds()))
            if not contender.in_flight:
                contender.waits, contender.waits_until = Wait.BACKOFF, due

    def _within_limits(self, contender: Contender, items: Sequence[Queued]) -> bool:
        buckets = self.made.buckets(contender.work.model)
        if buckets.paused_for:
            contender.waits = outage.wait_for(buckets)
            contender.waits_until = buckets.row.paused_until
            self.result.retry_after(buckets.paused_for)
            return False
        if not self._may_cost(contender):
            return False
        price = self._price(contender.work.model)
        need = contender.need(items)
        short = buckets.short_of(need)
        if short is not None:
            kind, seconds = short
            contender.waits = self.binds = WAITS[kind]
            self.result.retry_after(seconds)
            return False
        call = self._call(contender, items, need, price.rates if price else None)
        if not self._affordable(contender, call.reserved):
            return False
        call.number = self.made.number()
        buckets.take(need)
        outage.asked(buckets)
        self._take(contender, call)
        return True

    def _price(self, model: str) -> Applied | None:
        """One price for the whole round, so that what is reserved and what is recorded agree."""
        if model not in self.prices:
            self.prices[model] = applied(model, self.now)
        return self.prices[model]

    def _price_row(self, model: str) -> int | None:
        price = self._price(model)
        return None if price is None else _price_row(model, price)

    def _may_cost(self, contender: Contender) -> bool:
        """Whether its model has a price, or it may run without one; else it stands still."""
        if self._price(contender.work.model) is None and (refusal := self._unpriced(contender)):
            contender.block = Block.UNPRICED, refusal
        return contender.block is None

    def _unpriced(self, contender: Contender) -> str:
        row = contender.row
        return why_not(
            contender.work.model,
            self.now,
            unpriced_ok=row.unpriced_ok,
            budget=row.budget,
            ceiling=self.money,
        )

    def _worst(
        self, contender: Contender, items: Sequence[Queued], rates: Rates | None
    ) -> tuple[int, int]:
        """The output tokens that a request for `items` may take, and the units that it costs at
        the most."""
        max_tokens = contender.mode.max_tokens(contender.work, len(items))
        if items[0].widened:
            max_tokens *= 2
        max_tokens = min(MAX_TOKENS, max_tokens)
        bound = contender.bound(items) + OVERHEAD_TOKENS
        return max_tokens, rates.worst(bound, max_tokens, cache=contender.cache) if rates else 0

    def _call(
        self, contender: Contender, items: Sequence[Queued], need: Need, rates: Rates | None
    ) -> Call:
        work, row = contender.work, contender.row
        max_tokens, reserved = self._worst(contender, items, rates)
        shares = share_out(reserved, [item.prompt_bytes + max_tokens for item in items])
        return Call(
            number=0,
            worker=max(self.targets, key=lambda target: target.room).worker,
            batch=row.id,
            version=work.id,
            model=work.model,
            mode=row.mode,
            max_tokens=max_tokens,
            timeout=contender.timeout,
            rates=rates,
            reserved=reserved,
            expected_input=int(need.input_tokens),
            expected_output=int(need.output_tokens),
            parts=[
                Part(0, item.id, item.key, item.prompt_bytes, share)
                for item, share in zip(items, shares, strict=True)
            ],
            prime=contender.alone,
            cache=contender.cache,
            salt=row.cache_salt,
        )

    def _affordable(self, contender: Contender, reserved: int) -> bool:
        """Whether the batch and the installation can pay the worst case; if nothing in flight can
        free money either, a person has to."""
        budget = contender.row.budget
        if budget is not None and budget - contender.row.spent - contender.reserved < reserved:
            contender.waits = Wait.MONEY
            if not contender.in_flight:
                contender.block = (
                    Block.BUDGET,
                    f"${dollars(contender.row.spent):.4f} of ${dollars(budget):.4f} is spent, and"
                    f" the next call may cost ${dollars(reserved):.4f}.",
                )
            return False
        if self.money is not None and self.money < reserved:
            contender.waits, self.binds = Wait.MONEY, "money"
            if not self.live.reserved:
                contender.block = (
                    Block.CEILING,
                    f"The ceiling leaves ${dollars(max(0, self.money)):.4f}, and the next call may"
                    f" cost ${dollars(reserved):.4f}.",
                )
            return False
        return True

    def _take(self, contender: Contender, call: Call) -> None:
        going_on = contender.conversations.next() if contender.mode.converses else None
        if going_on is not None:
            call.context_bytes, call.last = going_on.bytes, going_on.last
        contender.take(len(call.parts), call.reserved)
        self._hold(call.reserved)
        self.live.by_work[contender.work_key] += 1
        self.free -= 1
        next(target for target in self.targets if target.worker == call.worker).room -= 1
        self.chosen.append((call, going_on))

    def _hold(self, reserved: int) -> None:
        self.live.reserved += reserved
        if self.money is not None:
            self.money -= reserved

    def write(self, *, granted: bool) -> Admission:
        """Write the round down: one statement for each table."""
        self.submitting.write()
        if self.chosen:
            self._write_attempts(granted)
        self._write_batches()
        self.limits.binds = self.binds
        self.result.calls = [call for call, _ in self.chosen]
        return self.result

    def _write_attempts(self, granted: bool) -> None:
        self._write_conversations()
        calls = [call for call, _ in self.chosen]
        rows.update_rows(
            "batchboard_item",
            ["state", "due_at", "tries+"],
            [
                (part.item, ItemState.RUNNING.value, None, 1)
                for call in calls
                for part in call.parts
            ],
        )
        until = self.now + timedelta(seconds=GRANT_SECONDS) if granted else None
        started_at = None if granted else self.now
        # What belongs to the call as a whole stands with the first of its items.
        inserted = rows.insert_rows(
            "batchboard_attempt",
            ATTEMPT,
            [
                (part.item, call.batch, call.worker, self._price_row(call.model), call.model,
                 call.mode, call.number, int(first), call.prime, call.max_tokens,
                 call.expected_input if first else 0, call.expected_output if first else 0,
                 part.reserved, self.now, until, started_at, "", "", "", call.cache, call.session)
                for call in calls
                for part, first in zip(call.parts, _first_of(call), strict=True)
            ],
            returning="id, item_id",
        )  # fmt: skip
        ids = {item: attempt for attempt, item in inserted}
        for call in calls:
            for part in call.parts:
                part.attempt = ids[part.item]

    def _write_conversations(self) -> None:
        begun = [(call.batch, one) for call, one in self.chosen if one and one.id is None]
        if begun:
            conversations.write(begun, self.now)
        for call, one in self.chosen:
            call.session = one.id if one else None

    def _write_batches(self) -> None:
        moved = [
            (c.row.id, c.row.cursor, c.row.wave, c.row.wave_left)
            for c in self.contenders
            if c.taken
        ]
        rows.update_rows("batchboard_batch", ["cursor", "wave", "wave_left"], moved)
        for contender in self.contenders:
            row = contender.row
            if contender.taken and row.state == BatchState.QUEUED:
                Batch.objects.get(pk=row.id).begin()
            if contender.block:
                Batch.objects.get(pk=row.id).block(*contender.block)
            waits = "" if contender.block else str(contender.waits)
            if (waits, contender.waits_until) != (row.waits_for, row.waits_until):
                Batch.objects.filter(pk=row.id).update(
                    waits_for=waits, waits_until=contender.waits_until
                )
                transaction.on_commit(partial(signals.announce_batch, row.public_id))


def _first_of(call: Call) -> list[bool]:
    return [number == 0 for number in range(len(call.parts))]


def _price_row(model: str, price: Applied) -> int:
    """The id of the stored record of what is applied."""
    digest = sha256(f"{model} {price}".encode()).hexdigest()
    if digest not in _price_rows:
        row, _ = Price.objects.get_or_create(
            digest=digest,
            defaults={"model": model, "rates": price.rates.as_json(), "source": price.source},
        )
        _price_rows[digest] = row.pk
    return _price_rows[digest]


_price_rows: dict[str, int] = {}
