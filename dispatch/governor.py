"""The governor: decides, for all batches together, which calls may be sent now.

Every decision is made under one lock, from what the database says at that moment: free slots, what
is left in the model's token buckets, and what is left of the money. What fits is leased and its
worst-case cost reserved in that same transaction, so that at no instant more is in flight, and
never more is spent, than the limits allow, however many processes ask.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from django.db import transaction

from batchboard import rows, signals
from batchboard.models import Batch, Limits
from batchboard.money import share_out
from batchboard.pricing import Rates
from batchboard.states import BatchState, Wait
from dispatch import admitted, outage
from dispatch.buckets import WAITS, Need
from dispatch.calls import Call, Part
from dispatch.contender import Contender, contenders
from dispatch.conversations import Conversation
from dispatch.deciding import Deciding
from dispatch.live import Live
from dispatch.modes.queued import Queued
from dispatch.price_rows import price_row
from dispatch.purse import Purse
from dispatch.submitting import STEP_SECONDS, Request, Submitting

MOST_ITEMS = 5_000
"""Items that one round lets through: more wait for the next, so that no decision, however high the
cap and however many items share a call, holds the lock for long."""


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
        self.items = 0
        self.binds = ""
        self.purse = Purse(made, live)

    def choose(self) -> None:
        """Deal out slots one by one: the batch with the fewest in flight is served first."""
        line = [(*contender.order, contender) for contender in self.contenders]
        heapq.heapify(line)
        chunk = max(1, -(-max(0, self.free) // max(1, len(line))))
        while line and self.items < MOST_ITEMS:
            contender = heapq.heappop(line)[-1]
            if self._serve(contender, chunk):
                heapq.heappush(line, (*contender.order, contender))
        if line:
            self.result.retry_after(0.0)

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
        if contender.block or not self.purse.may_cost(contender):
            return
        price = self.purse.price(contender.work.model)
        half = None if price is None else price.halved()

        def worst(item: Queued) -> Request:
            return Request(item, *self.purse.worst(contender, [item], half.rates if half else None))

        def affords(reserved: int) -> bool:
            affordable = self._affords(contender, reserved)
            if affordable:
                self.purse.hold(reserved)
            return affordable

        row = None if half is None else price_row(contender.work.model, half)
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
        if not self.purse.may_cost(contender):
            return False
        price = self.purse.price(contender.work.model)
        need = contender.need(items)
        short = buckets.short_of(need)
        if short is not None:
            kind, seconds = short
            contender.waits = self.binds = WAITS[kind]
            self.result.retry_after(seconds)
            return False
        call = self._call(contender, items, need, price.rates if price else None)
        if not self._affords(contender, call.reserved):
            return False
        call.number = self.made.number()
        buckets.take(need)
        outage.asked(buckets)
        self._take(contender, call)
        return True

    def _call(
        self, contender: Contender, items: Sequence[Queued], need: Need, rates: Rates | None
    ) -> Call:
        work, row = contender.work, contender.row
        max_tokens, reserved = self.purse.worst(contender, items, rates)
        shares = share_out(reserved, [item.prompt_bytes + max_tokens for item in items])
        return Call(
            number=0,
            worker=max(self.targets, key=lambda target: target.room).worker,
            batch=row.id,
            public_id=row.public_id,
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

    def _affords(self, contender: Contender, reserved: int) -> bool:
        affordable = self.purse.affords(contender, reserved)
        if self.purse.ceiling_binds:
            self.binds = "money"
        return affordable

    def _take(self, contender: Contender, call: Call) -> None:
        going_on = contender.conversations.next() if contender.mode.converses else None
        if going_on is not None:
            call.context_bytes, call.last = going_on.bytes, going_on.last
        contender.take(len(call.parts), call.reserved)
        self.purse.hold(call.reserved)
        self.live.by_work[contender.work_key] += 1
        self.free -= 1
        self.items += len(call.parts)
        next(target for target in self.targets if target.worker == call.worker).room -= 1
        self.chosen.append((call, going_on))

    def write(self, *, granted: bool) -> Admission:
        """Write the round down: one statement for each table."""
        self.submitting.write()
        if self.chosen:
            admitted.write(self.chosen, self.purse.price_row, self.now, granted=granted)
        self._write_batches()
        self.limits.binds = self.binds
        self.result.calls = [call for call, _ in self.chosen]
        return self.result

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
