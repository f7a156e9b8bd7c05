"""The runner: what one worker process does with its calls. An event loop sends them (`sending`), a
thread here records how they ended and begins what may follow, and another keeps the lease.

No database connection is held while a call is in flight. The process knows by number every call
that it holds; where it did not hear the end of a decision, because the connection broke, it asks
the database what it was given, so that no slot stays taken by a call that nobody makes.
"""

import logging
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from batchboard import rows
from batchboard.models import Attempt, Batch, ItemInput, Limits, ModelLimit, Worker
from batchboard.models.decision import decision
from batchboard.states import UNFINISHED_BATCH
from dispatch import recorder, sdk
from dispatch.calls import Began, Call, Finished
from dispatch.calls_of import RELATED, calls_of
from dispatch.conversations import turns_of
from dispatch.database import AWAY, drop_connection, hand_back_connection
from dispatch.lease import Lease, LeaseKeeper
from dispatch.modes.work import Framing, ItemWork, Turn
from dispatch.provider_identity import provider_now
from dispatch.sending import CANCELLED, Ready, Sending, not_sent
from dispatch.versions import work_of

log = logging.getLogger(__name__)

GROUP_SECONDS = 0.005
GROUP_SIZE = 100
DRAIN_SECONDS = 5.0
AWAY_SECONDS = 0.5
SHORTEST_WAIT_SECONDS = 0.02
LONGEST_WAIT_SECONDS = 5.0

Event = Finished | Began


class Runner:
    """Make one, `start` it, `stop` it."""

    def __init__(self, node: str) -> None:
        self.keeper = LeaseKeeper(node, self._end_cancelled)
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._sending = Sending(self.keeper, self._events.put)
        self._recording = threading.Thread(target=self._record, name="recorder", daemon=True)
        self._stopping = threading.Event()
        self._held: set[int] = set()
        """Calls from the moment when they are handed on until they are recorded."""

        self._taking = threading.Lock()
        self._doubt = False
        """Whether the database may have given it calls that it does not know of."""

    def start(self) -> None:
        """Register as a worker and begin; returns once calls can be taken."""
        sdk.load()
        try:
            with decision():
                ModelLimit.objects.forget_told_by_others(provider_now())
        except AWAY:
            log.warning("the database is away: limits that another provider told of stay for now")
        self.keeper.start()
        self._sending.start()
        self._recording.start()

    def drain(self) -> None:
        """Begin nothing more; calls in flight go on."""
        self._stopping.set()
        self.keeper.drain()

    def stop(self) -> None:
        """Begin nothing more, give calls in flight a moment, end the rest, record all of it."""
        self.drain()
        self._await_calls(DRAIN_SECONDS)
        self._sending.end(self._sending.in_flight(), "The worker was stopped.")
        self._await_calls(1.0)
        self._events.put(None)
        self._recording.join(timeout=3)
        self.keeper.end()
        self._sending.stop()

    def take(self, grant: int) -> int:
        """Begin the calls of a grant that are still granted to this worker and may still be made;
        returns how many items they serve."""
        lease = self.keeper.lease
        if lease is None or not lease.safe or self._stopping.is_set():
            return 0
        if Limits.objects.filter(paused=True).exists():
            return 0
        with self._taking:
            try:
                return self._take(grant, lease.worker)
            except Exception:
                self._doubt = True
                raise

    def consumed(self) -> None:
        """A message came off this worker's queue, which proves that it can."""
        if self.keeper.lease is not None:
            Worker.objects.filter(pk=self.keeper.lease.worker).update(consumed_at=rows.now())

    def _take(self, grant: int, worker: int) -> int:
        now = rows.now()
        # Since it was granted a person may have stopped the batch, or its key been refused.
        waiting = Attempt.objects.live().filter(
            grant=grant, worker=worker, started_at=None, batch__in=Batch.objects.open()
        )
        waiting.filter(granted_until__gt=now).update(started_at=now)
        # Those of this moment alone: the same message may come twice, and none is begun twice.
        begun = Attempt.objects.live().filter(grant=grant, worker=worker, started_at=now)
        attempts = list(begun.select_related(*RELATED))
        self._begin(calls_of(attempts))
        return len(attempts)

    def _begin(self, calls: Sequence[Call]) -> None:
        """Fetch what the calls need to know, and hand them to the event loop."""
        if not calls:
            return
        items = [part.item for call in calls for part in call.parts]
        data = dict(ItemInput.objects.filter(pk__in=items).values_list("pk", "data"))
        turns = turns_of([call.session for call in calls if call.session is not None])
        ready, broken = [], []
        for call in calls:
            try:
                ready.append(_ready(call, data, turns))
            except AWAY:
                raise
            except Exception as error:
                log.exception("call %s could not be made ready", call.number)
                broken.append(not_sent(call, error, self.keeper))
        self._held.update(call.number for call in calls)
        self._sending.begin(ready)
        for one in broken:
            self._events.put(one)

    # The recorder: settles, and begins what may follow

    def _record(self) -> None:
        pending: list[Event] = []
        wait: float | None = None
        stopping = False
        while True:
            came = self._collect(AWAY_SECONDS if pending else wait)
            stopping = stopping or None in came
            pending += [event for event in came if event is not None]
            pending, wait = self._write_down(pending)
            if stopping and not (pending and self._lease_holds()):
                return

    def _collect(self, wait: float | None) -> list[Event | None]:
        """Wait for the first event, then for others that come at about the same time."""
        longest = LONGEST_WAIT_SECONDS if wait is None else min(wait, LONGEST_WAIT_SECONDS)
        try:
            events = [self._events.get(timeout=max(longest, SHORTEST_WAIT_SECONDS))]
        except queue.Empty:
            return []
        until = time.monotonic() + GROUP_SECONDS
        while len(events) < GROUP_SIZE and events[-1] is not None:
            try:
                events.append(self._events.get(timeout=max(0.0, until - time.monotonic())))
            except queue.Empty:
                break
        return events

    def _write_down(self, events: list[Event]) -> tuple[list[Event], float | None]:
        """Record `events`, and begin what may follow. Returns those that must be recorded yet, and
        the seconds after which it is worth another look."""
        try:
            return [], self._settle(events)
        except AWAY:
            log.exception("the database is away: %s ended calls wait", len(events))
            self._doubt = True
            drop_connection()
            return events, AWAY_SECONDS
        except Exception:
            log.exception("%s ended calls could not be recorded together", len(events))
            self._doubt = True
            return self._settle_each(events), 1.0

    def _settle(self, events: list[Event]) -> float | None:
        lease = self.keeper.lease
        if lease is None:
            self._forget(events)
            return AWAY_SECONDS
        try:
            if self._doubt:
                self._recover(lease)
            admits = lease.safe and not self._stopping.is_set()
            mine = [event for event in events if event.call.worker == lease.worker]
            recorded = recorder.record(lease.worker, mine, admits=admits)
            self._forget(events)
            # Before anybody is told: that takes as long as others take to listen.
            self._begin(recorded.admission.calls)
            recorder.tell(recorded)
        except recorder.Fenced:
            self._give_up("it ran out")
            return None
        finally:
            hand_back_connection()
        return recorded.admission.retry_in

    def _settle_each(self, events: list[Event]) -> list[Event]:
        """Record one by one and admit nothing, after a fault that one of them or the admission is
        to blame for; returns those that must be recorded yet."""
        lease = self.keeper.lease
        for place, event in enumerate(events):
            try:
                if lease is not None and event.call.worker == lease.worker:
                    _settle_alone(lease.worker, event)
                self._forget([event])
            except AWAY:
                log.exception("the database is away: %s ended calls wait", len(events) - place)
                drop_connection()
                return events[place:]
            except Exception:
                # So that rescue frees what this process holds, and nothing stays running for ever.
                log.exception("an ended call could not be recorded in any way")
                self._give_up("its calls could not be recorded")
                return []
        return []

    def _recover(self, lease: Lease) -> None:
        """Begin calls that are this process's and that it does not know of: it did not hear the
        end of the decision that let them through, and so nobody sent them."""
        with self._taking:
            begun = Attempt.objects.live().filter(worker=lease.worker, started_at__isnull=False)
            unheard = set(begun.values_list("call", flat=True)) - self._held
            if unheard:
                log.warning("%s calls were let through unheard, and begin now", len(unheard))
                found = begun.filter(call__in=unheard).select_related(*RELATED)
                self._begin(calls_of(found))
            self._doubt = False

    def _forget(self, events: Sequence[Event]) -> None:
        self._held.difference_update(
            event.call.number for event in events if isinstance(event, Finished)
        )

    # The lease

    def _end_cancelled(self, lease: Lease) -> None:
        """Reach calls in flight of batches that a person cancelled."""
        numbers = self._sending.in_flight()
        if not numbers:
            return
        over = set(
            Attempt.objects.live()
            .filter(worker=lease.worker)
            .exclude(batch__state__in=UNFINISHED_BATCH)
            .values_list("call", flat=True)
        )
        if over:
            self._sending.end([number for number in numbers if number in over], CANCELLED)

    def _give_up(self, why: str) -> None:
        """Its calls belong to others: end them, and begin anew under another lease."""
        self.keeper.give_up(why)
        self._sending.end(self._sending.in_flight(), "Its worker lost the lease.")

    def _lease_holds(self) -> bool:
        return self.keeper.lease is not None and self.keeper.lease.safe

    def _await_calls(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._sending.in_flight() and time.monotonic() < until:
            time.sleep(0.02)


def _ready(call: Call, data: Mapping[int, Any], turns: Mapping[int, list[Turn]]) -> Ready:
    history = () if call.session is None else tuple(turns.get(call.session, ()))
    framing = Framing(call.cache, call.salt, history, call.last)
    items = [ItemWork(part.key, data[part.item]) for part in call.parts]
    return call, work_of(call.version), items, framing


def _settle_alone(worker: int, event: Event) -> None:
    """Record one event; one that cannot be recorded as it ended, as one that nobody knows."""
    try:
        recorder.settle(worker, [event], admits=False)
    except (*AWAY, recorder.Fenced):
        raise
    except Exception as error:
        if isinstance(event, Began):
            raise
        log.exception("call %s could not be recorded as it ended", event.call.number)
        recorder.settle(worker, [event.unrecordable(error)], admits=False)
