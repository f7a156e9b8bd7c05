"""The runner: one event loop on a thread that sends calls, one thread that records how they ended,
and one that keeps the worker's lease.

No database connection is held while a call is in flight: the loop never touches the database. The
lease is kept from a thread of its own, so that neither a long answer nor a slow write delays it;
and a worker that cannot renew it in time ends its calls itself, before their slots are given to
others.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import uvloop
from django.db import InterfaceError, OperationalError, connections

from batchboard import rows
from batchboard.models import Attempt, ItemInput, ModelLimit, Worker
from batchboard.models.lifecycle import decision
from batchboard.money import units
from batchboard.pricing import Rates, Usage
from batchboard.states import BatchState
from dispatch import governor, recorder, sdk
from dispatch.calls import Began, Call, Finished, Part, PartReply, Reply
from dispatch.conversations import turns_of
from dispatch.modes import MODES
from dispatch.modes.work import Framing, ItemWork, VersionWork
from dispatch.outcome import Outcome
from dispatch.provider import ask, make_client
from dispatch.provider_identity import provider_now
from dispatch.versions import work_of

if TYPE_CHECKING:
    import anthropic
else:
    from dispatch.sdk import anthropic

log = logging.getLogger(__name__)

LEASE_SECONDS = 15.0
RENEW_SECONDS = 5.0
FENCE_MARGIN_SECONDS = 2.0
"""A worker ends its calls so long before its lease does."""

WATCH_SECONDS = 1.0
GROUP_SECONDS = 0.005
GROUP_SIZE = 100
DRAIN_SECONDS = 5.0

DATABASE_ERRORS = (OperationalError, InterfaceError)
"""The database is away, and will be back; any other of its errors is a fault of what was asked."""

AWAY_SECONDS = 0.5

Ready: TypeAlias = tuple[Call, VersionWork, list[ItemWork], Framing]
"""A call with all that its request is made of."""


@dataclass(slots=True)
class Lease:
    """This process's right to make calls. `deadline` is on the monotonic clock, counted from
    before the renewal was asked for, so it is never later than what the database holds."""

    worker: int
    deadline: float

    @property
    def safe(self) -> bool:
        return time.monotonic() < self.deadline - FENCE_MARGIN_SECONDS


class Runner:
    """What one worker process does with its calls. Make one, `start` it, `stop` it."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.lease: Lease | None = None
        self._events: queue.SimpleQueue[Finished | Began | None] = queue.SimpleQueue()
        self._tasks: dict[int, tuple[Call, asyncio.Task[None]]] = {}
        self._admitted: list[Call] = []
        """Let through and not begun yet, where the database went away in between."""

        self._loop = uvloop.new_event_loop()
        self._client: anthropic.AsyncAnthropic | None = None
        self._stopping = threading.Event()
        self._wake_lease = threading.Event()
        self._threads = [
            threading.Thread(target=target, name=name, daemon=True)
            for name, target in (
                ("calls", self._run_loop),
                ("recorder", self._record),
                ("lease", self._keep_lease),
            )
        ]

    def start(self) -> None:
        """Register as a worker and begin; returns once calls can be taken."""
        sdk.load()
        with decision():
            ModelLimit.objects.forget_told_by_others(provider_now())
        self._register()
        for thread in self._threads:
            thread.start()

    def drain(self) -> None:
        """Begin nothing more; calls in flight go on."""
        self._stopping.set()

    def stop(self) -> None:
        """Begin nothing more, give calls in flight a moment, end the rest, record all of it."""
        self._stopping.set()
        until = time.monotonic() + DRAIN_SECONDS
        while self._tasks and time.monotonic() < until:
            time.sleep(0.05)
        self._end_calls(list(self._tasks), "The worker was stopped.")
        until = time.monotonic() + 1.0
        while self._tasks and time.monotonic() < until:
            time.sleep(0.02)
        self._events.put(None)
        self._wake_lease.set()
        self._threads[1].join(timeout=3)
        if self.lease is not None:
            _quietly(lambda: Worker.objects.filter(pk=self.lease.worker).update(fenced=True))  # type: ignore[union-attr]
        self._loop.call_soon_threadsafe(self._loop.stop)

    def take(self, grant: int) -> int:
        """Begin the calls of a grant that are still granted to this worker; returns how many."""
        lease = self.lease
        if lease is None or not lease.safe or self._stopping.is_set():
            return 0
        now = rows.now()
        waiting = Attempt.objects.live().filter(grant=grant, worker=lease.worker, started_at=None)
        waiting.filter(granted_until__gt=now).update(started_at=now)
        # Those of this moment alone: the same message may come twice, and none is begun twice.
        begun = Attempt.objects.live().filter(grant=grant, worker=lease.worker, started_at=now)
        try:
            self._begin(_calls_of(begun.select_related("batch", "item", "session", "price")))
        except Exception:
            self._give_up("A grant could not be begun.")
            raise
        return len(begun)

    def consumed(self) -> None:
        """A message came off this worker's queue, which proves that it can."""
        if self.lease is not None:
            Worker.objects.filter(pk=self.lease.worker).update(consumed_at=rows.now())

    # The event loop: sends calls

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _begin(self, calls: Iterable[Call]) -> None:
        """Fetch what the calls need to know, and hand them to the event loop."""
        ready: list[Ready] = []
        calls = list(calls)
        data = dict(
            ItemInput.objects.filter(
                pk__in=[part.item for call in calls for part in call.parts]
            ).values_list("pk", "data")
        )
        turns = turns_of([call.session for call in calls if call.session is not None])
        for call in calls:
            history = () if call.session is None else tuple(turns[call.session])
            framing = Framing(call.cache, call.salt, history, call.last)
            items = [ItemWork(part.key, data[part.item]) for part in call.parts]
            ready.append((call, work_of(call.version), items, framing))
        if ready:
            self._loop.call_soon_threadsafe(self._spawn, ready)

    def _spawn(self, ready: list[Ready]) -> None:
        for call, work, items, framing in ready:
            task = self._loop.create_task(self._call(call, work, items, framing))
            self._tasks[call.number] = call, task

    async def _call(
        self, call: Call, work: VersionWork, items: list[ItemWork], framing: Framing
    ) -> None:
        """One call: request, answer, what it means for each item, and on to the recorder."""
        started_at = datetime.now(UTC)
        mode = MODES[call.mode]
        try:
            request = mode.request(work, items, call.max_tokens, framing)
            lease = self.lease
            if self._client is None:
                self._client = make_client()
            began = (lambda: self._events.put(Began(call))) if call.prime else None
            try:
                if lease is None or lease.worker != call.worker or not lease.safe:
                    # Said, because the lease may yet be renewed, and the slot would stay taken.
                    reply = Reply(Outcome.LOST, "The lease was about to end.", usage=Usage())
                else:
                    reply = await ask(self._client, request, call.timeout, began)
            except asyncio.CancelledError as cancelled:
                reply = _ended_early(cancelled)
            parts = mode.read(work, items, call, reply)
        except Exception as error:
            log.exception("call %s could not be made or read", call.number)
            reply = Reply(Outcome.UNKNOWN, f"{type(error).__name__}: {error}"[:300])
            parts = [PartReply(reply.outcome, reply.problem) for _ in items]
        finally:
            self._tasks.pop(call.number, None)
        self._events.put(Finished(call, reply, parts, started_at))

    def _end_calls(self, numbers: list[int], why: str) -> None:
        def end() -> None:
            for number in numbers:
                if number in self._tasks:
                    self._tasks[number][1].cancel(why)

        self._loop.call_soon_threadsafe(end)

    # The recorder: settles, and begins what may follow

    def _record(self) -> None:
        admission = governor.Admission()
        pending: list[Finished | Began] = []
        while True:
            pending += self._collect(AWAY_SECONDS if pending else admission.retry_in)
            last = bool(pending) and pending[-1] is None
            events = [event for event in pending if event is not None]
            try:
                admission = self._settle(events)
                pending = []
            except DATABASE_ERRORS:
                log.exception("the database is away: %s ended calls wait", len(events))
                _drop_connection()
                admission, pending = governor.Admission(retry_in=AWAY_SECONDS), list(events)
            except Exception:
                log.exception("%s ended calls could not be recorded", len(events))
                admission, pending = self._settle_alone(events), []
            if last and (not pending or self._lease_is_over()):
                return

    def _collect(self, wait: float | None) -> list[Any]:
        """Wait for the first event, then for others that come at about the same time."""
        try:
            events: list[Any] = [
                self._events.get(timeout=None if wait is None else max(wait, 0.02))
            ]
        except queue.Empty:
            return []
        until = time.monotonic() + GROUP_SECONDS
        while len(events) < GROUP_SIZE and events[-1] is not None:
            try:
                events.append(self._events.get(timeout=max(0.0, until - time.monotonic())))
            except queue.Empty:
                break
        return events

    def _settle_alone(self, events: list[Finished | Began]) -> governor.Admission:
        """Record without admitting, after a fault in either; if that fails too, give up the lease,
        so that rescue frees what this process holds and nothing stays running for ever."""
        lease = self.lease
        try:
            if lease is not None:
                recorder.settle(lease.worker, events, admits=False)
        except Exception:
            log.exception("%s ended calls are given up", len(events))
            self._give_up("Its calls could not be recorded.")
        return governor.Admission(retry_in=1.0)

    def _settle(self, events: list[Finished | Began]) -> governor.Admission:
        lease = self.lease
        if lease is None:
            return governor.Admission(retry_in=0.5)
        mine = [event for event in events if event.call.worker == lease.worker]
        try:
            admission = recorder.settle(
                lease.worker,
                mine,
                admits=lease.safe and not self._stopping.is_set(),
            )
            self._admitted += admission.calls
            self._begin(self._admitted)
            self._admitted = []
        except recorder.Fenced:
            self._give_up("Its lease ran out.")
            return governor.Admission()
        finally:
            _hand_back_connection()
        return admission

    # The lease

    def _keep_lease(self) -> None:
        renewed = time.monotonic()
        while not self._stopping.is_set():
            self._wake_lease.wait(WATCH_SECONDS)
            lease = self.lease
            try:
                if lease is None:
                    self._register()
                    renewed = time.monotonic()
                elif time.monotonic() - renewed >= RENEW_SECONDS:
                    asked = time.monotonic()
                    if self._renew(lease, asked):
                        renewed = asked
                else:
                    self._end_cancelled(lease)
            except DATABASE_ERRORS:
                log.warning("the lease could not be renewed: the database is away")
                _drop_connection()
            if lease is not None and not lease.safe and self._tasks:
                self._end_calls(list(self._tasks), "The lease could not be renewed.")

    def _register(self) -> None:
        asked = time.monotonic()
        now = rows.now()
        worker = Worker.objects.create(
            node=self.node,
            host=socket.gethostname(),
            pid=os.getpid(),
            lease_until=now + timedelta(seconds=LEASE_SECONDS),
            consumed_at=now,
        )
        self.lease = Lease(worker.pk, asked + LEASE_SECONDS)

    def _renew(self, lease: Lease, asked: float) -> bool:
        """Renew for everything that this process holds, with one UPDATE."""
        until = rows.now() + timedelta(seconds=LEASE_SECONDS)
        if Worker.objects.filter(pk=lease.worker, fenced=False).update(lease_until=until):
            lease.deadline = asked + LEASE_SECONDS
            return True
        self._give_up("Its lease ran out.")
        return False

    def _give_up(self, why: str) -> None:
        """This worker was fenced: its calls belong to others. Begin anew under another row."""
        log.warning("fenced: %s %s calls ended", why, len(self._tasks))
        self.lease = None
        self._end_calls(list(self._tasks), why)

    def _end_cancelled(self, lease: Lease) -> None:
        """Reach calls in flight of batches that a person cancelled or whose time is over."""
        if not self._tasks:
            return
        over = set(
            Attempt.objects.live()
            .filter(worker=lease.worker)
            .exclude(batch__state__in=[BatchState.RUNNING, BatchState.PAUSED, BatchState.QUEUED])
            .values_list("call", flat=True)
        )
        if over:
            self._end_calls([n for n in list(self._tasks) if n in over], "cancelled")

    def _lease_is_over(self) -> bool:
        return self.lease is None or not self.lease.safe


def _ended_early(cancelled: asyncio.CancelledError) -> Reply:
    """A call that was cut off: by a person, or because the worker may no longer hold it."""
    why = str(cancelled.args[0]) if cancelled.args else "The worker was stopped."
    if why == "cancelled":
        return Reply(Outcome.CANCELLED, "A person cancelled the batch.")
    return Reply(Outcome.LOST, why)


def _calls_of(attempts: Iterable[Attempt]) -> list[Call]:
    """The calls that these attempts are, with all of the items that share one."""
    by_call: dict[int, list[Attempt]] = {}
    for attempt in attempts:
        by_call.setdefault(attempt.call, []).append(attempt)
    return [_call_of(parts) for parts in by_call.values()]


def _call_of(attempts: list[Attempt]) -> Call:
    first, session = attempts[0], attempts[0].session
    assert first.worker_id is not None
    seconds: float = first.batch.item_timeout
    if session is not None:
        seconds = min(seconds, (session.ends_at - first.granted_at).total_seconds())
    return Call(
        number=first.call,
        worker=first.worker_id,
        batch=first.batch_id,
        version=first.batch.version_id,
        model=first.model,
        mode=first.mode,
        max_tokens=first.max_tokens,
        timeout=seconds,
        rates=Rates.of_json(first.price.rates) if first.price else None,
        reserved=sum(units(attempt.reserved) for attempt in attempts),
        expected_input=sum(attempt.expected_input for attempt in attempts),
        expected_output=sum(attempt.expected_output for attempt in attempts),
        parts=[
            Part(one.pk, one.item_id, one.item.key, one.item.prompt_bytes, units(one.reserved))
            for one in attempts
        ],
        prime=first.prime,
        cache=first.cache,
        salt=first.batch.cache_salt,
        session=first.session_id,
        context_bytes=session.bytes if session else 0,
        last=session is not None and session.items + 1 >= session.most_items,
    )


def _quietly(write: Callable[[], Any]) -> None:
    try:
        write()
    except DATABASE_ERRORS:
        log.warning("the database is away: the lease ends by itself")


def _hand_back_connection() -> None:
    """Return a pooled connection; an SQLite file costs nothing to keep open."""
    connection = connections["default"]
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()


def _drop_connection() -> None:
    for connection in connections.all(initialized_only=True):
        connection.close()
