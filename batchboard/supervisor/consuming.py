"""Notices workers that are alive and do no work: a process may run, beat its heart, and never take
a message off its queue again."""

import time
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import DatabaseError, connection

from batchboard import rows
from batchboard.models import Limits, QueueSign, Worker
from batchboard.models.queue_sign import FILES
from batchboard.supervisor.child import Child
from batchboard.supervisor.plan import broker_answers

STUCK_SECONDS = 30.0
START_SECONDS = 120.0
"""A worker that is not registered yet still begins: on a busy machine that takes its time, and to
end it then would only make it begin anew."""

FILES_STUCK_SECONDS = 120.0
"""A large workbook is opened whole before its first row comes, and says nothing all the while."""

CHECK_SECONDS = 3.0


class Watch:
    """Finds children that should be started again although they run."""

    def __init__(self, children: Iterable[Child]) -> None:
        children = list(children)
        self._calls = [child for child in children if child.name.startswith("calls")]
        self._control = [child for child in children if child.name in {"control", "beat"}]
        self._files = [child for child in children if child.name == "files"]
        self._checked = 0.0
        self._broker_since: float | None = None

    def stuck(self) -> list[tuple[Child, str]]:
        """Children that did not consume for too long, while broker and database answered."""
        now = time.monotonic()
        if now - self._checked < CHECK_SECONDS:
            return []
        self._checked = now
        if not broker_answers():
            self._broker_since = None
            return []
        self._broker_since = self._broker_since or now
        if now - self._broker_since < STUCK_SECONDS:
            return []
        try:
            return self._find()
        except DatabaseError:
            connection.close()
            return []

    def _find(self) -> list[tuple[Child, str]]:
        now = rows.now()
        old = now - timedelta(seconds=STUCK_SECONDS)
        pumped = Limits.objects.current().pumped_at
        if pumped is None or pumped < old:
            why = f"nothing was pumped for {STUCK_SECONDS:g} s"
            suspects = list(self._control)
            if pumped is not None and pumped < old - timedelta(seconds=STUCK_SECONDS):
                # A new control worker did not help: another process may hold the database.
                suspects += self._calls
            return [(child, why) for child in suspects if child.age > STUCK_SECONDS]
        return self._silent_calls(old) + self._silent_files(now)

    def _silent_calls(self, old: datetime) -> list[tuple[Child, str]]:
        found = []
        for child in self._calls:
            worker = Worker.objects.filter(pid=child.pid or 0, fenced=False).order_by("-id").first()
            if worker is None and child.age <= START_SECONDS:
                continue
            consumed = worker is not None and worker.consumed_at >= old
            if child.age > STUCK_SECONDS and not consumed:
                found.append((child, f"it took no message for {STUCK_SECONDS:g} s"))
        return found

    def _silent_files(self, now: datetime) -> list[tuple[Child, str]]:
        """Beat asks for work on files every few seconds, and long work tells how far it is."""
        old = now - timedelta(seconds=FILES_STUCK_SECONDS)
        if QueueSign.objects.filter(pk=FILES, at__gte=old).exists():
            return []
        why = f"no work on files went on for {FILES_STUCK_SECONDS:g} s"
        return [(child, why) for child in self._files if child.age > FILES_STUCK_SECONDS]
