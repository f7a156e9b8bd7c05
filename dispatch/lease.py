"""The lease of a worker process: its right to make calls, kept from a thread of its own, so that
neither a long answer nor a slow write delays it.

Whether the lease still holds is asked of the monotonic clock, and never needs the database: who
cannot reach the database cannot renew, and must know that all the same.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from batchboard import rows
from batchboard.models import Worker
from dispatch.database import AWAY, drop_connection
from dispatch.process_identity import machine

log = logging.getLogger(__name__)

LEASE_SECONDS = 15.0
RENEW_SECONDS = 5.0
FENCE_MARGIN_SECONDS = 2.0
"""A worker ends its calls so long before its lease does."""

WATCH_SECONDS = 1.0


@dataclass(slots=True)
class Lease:
    """The right to make calls. `deadline` is on the monotonic clock, counted from before the
    renewal was asked for, so it is never later than what the database holds."""

    worker: int
    deadline: float

    @property
    def safe(self) -> bool:
        return time.monotonic() < self.deadline - FENCE_MARGIN_SECONDS


class LeaseKeeper:
    """Takes the lease of this process, renews it, and takes a new one where it was lost.

    `watch` is called every second with a lease that holds.
    """

    def __init__(self, node: str, watch: Callable[[Lease], None]) -> None:
        self.lease: Lease | None = None
        self._node = node
        self._watch = watch
        self._ahead = timedelta(0)
        self._renewed = 0.0
        self._drains = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def start(self) -> None:
        """Take the lease and keep it. Where the database is away, it is taken once that is back."""
        try:
            self.register()
        except AWAY:
            log.warning("no lease yet: the database is away")
            drop_connection()
        self._thread.start()

    def drain(self) -> None:
        """Take no new lease; the one that holds is kept for the calls in flight."""
        self._drains = True

    def end(self) -> None:
        """Give the lease back: what is still held under it may go to others."""
        self._ended.set()
        self._thread.join(timeout=1)
        if self.lease is not None:
            try:
                Worker.objects.filter(pk=self.lease.worker).update(fenced=True)
            except AWAY:
                log.warning("the database is away: the lease ends by itself")

    def give_up(self, why: str) -> None:
        """The calls under this lease belong to others. Begin anew under another."""
        log.warning("the lease is given up: %s", why)
        self.lease = None

    def covers(self, worker: int) -> bool:
        """Whether calls that were let through for `worker` are this process's to make now."""
        lease = self.lease
        return lease is not None and lease.worker == worker and lease.safe

    def now(self) -> datetime:
        """The database's clock, without asking it: this machine's may be ahead or behind."""
        return datetime.now(UTC) + self._ahead

    def register(self) -> None:
        """Take a lease, under a new row."""
        asked = time.monotonic()
        now = self._read_clock()
        worker = Worker.objects.create(
            node=self._node,
            host=machine(),
            pid=os.getpid(),
            lease_until=now + timedelta(seconds=LEASE_SECONDS),
            consumed_at=now,
        )
        self.lease, self._renewed = Lease(worker.pk, asked + LEASE_SECONDS), asked

    def _keep(self) -> None:
        while not self._ended.wait(WATCH_SECONDS):
            try:
                self._look_after()
            except AWAY:
                log.warning("the lease could not be looked after: the database is away")
                drop_connection()
            except Exception:
                # Whatever it was: without this thread the process would lose all that it holds.
                log.exception("the lease could not be looked after")

    def _look_after(self) -> None:
        lease = self.lease
        if lease is None:
            if not self._drains:
                self.register()
        elif time.monotonic() - self._renewed >= RENEW_SECONDS:
            self._renew(lease)
        else:
            self._watch(lease)

    def _renew(self, lease: Lease) -> None:
        """Renew for everything that this process holds, with one UPDATE."""
        asked = time.monotonic()
        until = self._read_clock() + timedelta(seconds=LEASE_SECONDS)
        if Worker.objects.filter(pk=lease.worker, fenced=False).update(lease_until=until):
            lease.deadline = asked + LEASE_SECONDS
            self._renewed = asked
        else:
            self.give_up("it ran out")

    def _read_clock(self) -> datetime:
        now = rows.now()
        self._ahead = now - datetime.now(UTC)
        return now
