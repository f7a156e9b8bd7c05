"""The right to work on one submission: a lease that a thread renews, so that nobody else begins the
same while a long request is on its way."""

import logging
import os
import secrets
import threading
import time
from datetime import timedelta
from typing import Any

from django.db import connections
from django.db.models import Q

from batchboard import rows
from batchboard.models import QueueSign, Submission
from batchboard.models.queue_sign import FILES
from batchboard.states import SubmissionState
from dispatch.database import AWAY, drop_connection
from dispatch.process_identity import is_alive, machine

log = logging.getLogger(__name__)

LEASE_SECONDS = 20.0
RENEW_SECONDS = 5.0
MARGIN_SECONDS = 4.0


class Lost(Exception):
    """The lease ran out, and another process may have the submission now."""


class Held:
    """A submission that this process works on, within a `with` block."""

    def __init__(self, row: Submission, owner: str, deadline: float) -> None:
        self.row = row
        self.owner = owner
        self._deadline = deadline
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="submission", daemon=True)

    def __enter__(self) -> "Held":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._mine().update(owner="", lease_until=None)

    @property
    def safe(self) -> bool:
        """Whether nobody else can hold it now."""
        return time.monotonic() < self._deadline - MARGIN_SECONDS

    def write(self, **values: Any) -> None:
        """Change the submission, if it is still ours."""
        if not self._mine().update(**values):
            raise Lost
        for name, value in values.items():
            setattr(self.row, name, value)

    def _mine(self) -> Any:
        return Submission.objects.filter(pk=self.row.pk, owner=self.owner)

    def _renew(self) -> None:
        try:
            while not self._over.wait(RENEW_SECONDS):
                asked = time.monotonic()
                try:
                    now = rows.now()
                    QueueSign.objects.note(FILES, now)
                    until = now + timedelta(seconds=LEASE_SECONDS)
                    if not self._mine().update(lease_until=until):
                        return
                    self._deadline = asked + LEASE_SECONDS
                except AWAY:
                    log.warning("a submission's lease could not be renewed: the database is away")
                    drop_connection()
        finally:
            connections.close_all()


def claim() -> Held | None:
    """The oldest submission that is due and that nobody holds; None where there is none."""
    now = rows.now()
    due = Submission.objects.due(now).select_related("batch").order_by("pk")
    for row in due[:50]:
        dead = _is_of_the_dead(row.owner)
        if row.lease_until is not None and row.lease_until > now and not dead:
            continue
        owner = f"{machine()}/{os.getpid()}/{secrets.token_hex(6)}"
        asked = time.monotonic()
        free = Q(owner="") | Q(owner=row.owner, lease_until=row.lease_until)
        mine = Submission.objects.open().filter(free, pk=row.pk, state=row.state)
        taken: dict[str, Any] = {
            "owner": owner,
            "lease_until": now + timedelta(seconds=LEASE_SECONDS),
        }
        if dead and row.state == SubmissionState.SENDING:
            # What it may have been sending ended with it.
            taken["cut_off_at"] = now
        if mine.update(**taken):
            row.refresh_from_db()
            return Held(row, owner, asked + LEASE_SECONDS)
    return None


def _is_of_the_dead(owner: str) -> bool:
    """On this machine a process that is gone needs no waiting for its lease."""
    host, pid, _ = f"{owner}//".split("/", 2)
    return host == machine() and pid.isdigit() and not is_alive(int(pid))
