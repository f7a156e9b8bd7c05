"""The event loop that sends calls, on a thread of its own. It never touches the database.

It fences itself: twice a second it ends the calls that no lease covers any more, before their slots
are given to others. That must not wait for a database that does not answer.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import uvloop

from batchboard.pricing import Usage
from dispatch.calls import Began, Call, Finished, PartReply, Reply
from dispatch.lease import LeaseKeeper
from dispatch.modes import MODES
from dispatch.modes.work import Framing, ItemWork, VersionWork
from dispatch.outcome import Outcome
from dispatch.provider import ask, make_client

if TYPE_CHECKING:
    import anthropic
else:
    from dispatch.sdk import anthropic

log = logging.getLogger(__name__)

FENCE_SECONDS = 0.5
CANCELLED = "cancelled"
NOTHING = Usage()

Ready: TypeAlias = tuple[Call, VersionWork, list[ItemWork], Framing]
"""A call with all that its request is made of."""


class Sending:
    """Sends what it is given, and tells `on_event` how each call began and ended."""

    def __init__(self, keeper: LeaseKeeper, on_event: Callable[[Finished | Began], None]) -> None:
        self._keeper = keeper
        self._on_event = on_event
        self._tasks: dict[int, tuple[Call, asyncio.Task[Any]]] = {}
        self._client: anthropic.AsyncAnthropic | None = None
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="calls", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)

    def begin(self, ready: Sequence[Ready]) -> None:
        """Send these; from any thread."""
        if ready:
            self._loop.call_soon_threadsafe(self._spawn, ready)

    def in_flight(self) -> list[int]:
        """The numbers of the calls that were begun and have not ended."""
        return list(self._tasks)

    def end(self, numbers: Collection[int], why: str) -> None:
        """Cut these calls off; from any thread."""
        self._loop.call_soon_threadsafe(self._end, numbers, why)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.call_soon(self._fence)
        self._loop.run_forever()

    def _spawn(self, ready: Sequence[Ready]) -> None:
        for one in ready:
            self._loop.create_task(self._call(*one))

    def _end(self, numbers: Collection[int], why: str) -> None:
        for number in numbers:
            if number in self._tasks:
                self._tasks[number][1].cancel(why)

    def _fence(self) -> None:
        over = [n for n, (call, _) in self._tasks.items() if not self._keeper.covers(call.worker)]
        if over:
            log.warning("%s calls are ended: the lease could not be renewed", len(over))
            self._end(over, "The lease could not be renewed.")
        self._loop.call_later(FENCE_SECONDS, self._fence)

    async def _call(
        self, call: Call, work: VersionWork, items: list[ItemWork], framing: Framing
    ) -> None:
        """One call: request, answer, what it means for each item, and on to the recorder."""
        started_at = self._keeper.now()
        # Only here: a task that was cut off before its first step would tell nobody.
        task = asyncio.current_task()
        assert task is not None
        self._tasks[call.number] = call, task
        mode, sent = MODES[call.mode], None
        try:
            request = mode.request(work, items, call.max_tokens, framing)
            sent = reply = await self._send(call, request)
            parts = mode.read(work, items, call, reply)
        except Exception as error:
            log.exception("call %s could not be made or read", call.number)
            reply = _spoilt(sent, error)
            parts = [PartReply(reply.outcome, reply.problem, reply.text) for _ in items]
        finally:
            self._tasks.pop(call.number, None)
        self._on_event(Finished(call, reply, parts, started_at))

    async def _send(self, call: Call, request: dict[str, Any]) -> Reply:
        if self._client is None:
            self._client = make_client()
        if not self._keeper.covers(call.worker):
            # Said, because the lease may yet be renewed, and the slot would stay taken.
            return Reply(Outcome.LOST, "The lease was about to end.", usage=NOTHING)
        began = (lambda: self._on_event(Began(call))) if call.prime else None
        try:
            return await ask(self._client, request, call.timeout, began)
        except asyncio.CancelledError as cancelled:
            return _ended_early(cancelled)


def not_sent(call: Call, error: Exception, keeper: LeaseKeeper) -> Finished:
    """How a call ends that could not even be made ready."""
    reply = _spoilt(None, error)
    parts = [PartReply(reply.outcome, reply.problem) for _ in call.parts]
    return Finished(call, reply, parts, keeper.now())


def _spoilt(sent: Reply | None, error: Exception) -> Reply:
    """A call that a fault of ours ended. What was never sent cost nothing, and what was answered
    costs what its answer says."""
    problem = f"{type(error).__name__}: {error}"[:300]
    reply = sent or Reply(Outcome.UNKNOWN, usage=NOTHING)
    return replace(reply, outcome=Outcome.UNKNOWN, problem=problem)


def _ended_early(cancelled: asyncio.CancelledError) -> Reply:
    """A call that was cut off: by a person, or because the worker may no longer hold it."""
    why = str(cancelled.args[0]) if cancelled.args else "The worker was stopped."
    if why == CANCELLED:
        return Reply(Outcome.CANCELLED, "A person cancelled the batch.")
    return Reply(Outcome.LOST, why)
