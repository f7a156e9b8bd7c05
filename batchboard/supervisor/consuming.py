"""Notices workers that are alive and do no work: a process may run, beat its heart, and never take
a message off its queue again."""

import time
from collections import Counter
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
MOST_DOUBLINGS = 3


class Watch:
    """Finds children that should be started again although they run."""

    def __init__(self, children: Iterable[Child]) -> None:
        children = list(children)
        self._calls = [child for child in children if child.name.startswith("calls")]
        self._control = [child for child in children if child.name in {"control", "beat"}]
        self._files = [child for child in children if child.name == "files"]
        self._checked = 0.0
        self._broker_since: float | None = None
        self._ended: Counter[str] = Counter()

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
            found = self._find()
        except DatabaseError:
            connection.close()
            return []
        self._ended.update(child.name for child, _ in found)
        return found

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
            return [(child, why) for child in suspects if self._had_its_time(child, STUCK_SECONDS)]
        self._work(self._control)
        return self._silent_calls(old) + self._silent_files(now)

    def _silent_calls(self, old: datetime) -> list[tuple[Child, str]]:
        found = []
        for child in self._calls:
            worker = Worker.objects.filter(pid=child.pid or 0, fenced=False).order_by("-id").first()
            if worker is None and child.age <= START_SECONDS:
                continue
            consumed = worker is not None and worker.consumed_at >= old
            if consumed:
                self._work([child])
            elif self._had_its_time(child, STUCK_SECONDS):
                found.append((child, f"it took no message for {STUCK_SECONDS:g} s"))
        return found

    def _silent_files(self, now: datetime) -> list[tuple[Child, str]]:
        """Beat asks for work on files every few seconds, and long work tells how far it is."""
        old = now - timedelta(seconds=FILES_STUCK_SECONDS)
        if QueueSign.objects.filter(pk=FILES, at__gte=old).exists():
            self._work(self._files)
            return []
        why = f"no work on files went on for {FILES_STUCK_SECONDS:g} s"
        return [
            (child, why) for child in self._files if self._had_its_time(child, FILES_STUCK_SECONDS)
        ]

    def _had_its_time(self, child: Child, seconds: float) -> bool:
        """Whether a child lived long enough to have begun. One that was ended for this gets twice
        as long: on a machine with too much to do none would ever come so far."""
        return child.age > seconds * (1 << min(self._ended[child.name], MOST_DOUBLINGS))

    def _work(self, children: Iterable[Child]) -> None:
        for child in children:
            self._ended.pop(child.name, None)
