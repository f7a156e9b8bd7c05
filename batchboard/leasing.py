"""Pieces of work that wait in the database: whoever works on one holds its lease, and one whose
worker died is begun anew when that lease runs out."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import DatabaseError, connection
from django.db.models import Model, Q, QuerySet

from batchboard import rows, signals
from batchboard.models import QueueSign
from batchboard.models.queue_sign import FILES

log = logging.getLogger(__name__)

M = TypeVar("M", bound=Model)

LEASE_SECONDS = 20
TELL_SECONDS = 0.5
KEEP_SECONDS = 5.0
KEPT_SECONDS = 1_800
"""One piece is worked on for this long at the most, whatever it does."""

OWN_LEASES = 64
"""So many of the last leases of a piece are known as one's own: two threads renew it, and neither
may wait for the other, which may wait for the database."""


class Taken(Exception):
    """The lease ran out, and another process has the piece now."""


def claim(waiting: QuerySet[M]) -> M | None:
    """The oldest piece whose lease is free, with a new lease on it; None where there is none."""
    now = rows.now()
    free = waiting.filter(Q(lease_until=None) | Q(lease_until__lt=now)).order_by("pk")
    for piece in free[:5]:
        until = now + timedelta(seconds=LEASE_SECONDS)
        held = piece.lease_until  # type: ignore[attr-defined]
        row = type(piece)._default_manager.filter(pk=piece.pk, lease_until=held)
        if row.update(lease_until=until):
            piece.lease_until = until  # type: ignore[attr-defined]
            _leases(piece).append(until)
            return piece
    return None


@contextmanager
def keeping(piece: Model) -> Iterator[None]:
    """Renew the lease by the clock: a step in which nothing can be told, such as the opening of a
    workbook or a file of blank lines, may take longer than it holds, and then two workers would
    take the piece from each other for ever. Work that the database refused lets the lease go, so
    that it is begun anew at once and not only when the lease runs out."""
    over = threading.Event()
    thread = threading.Thread(target=_keep, args=(piece, over), daemon=True)
    thread.start()
    try:
        yield
    except DatabaseError:
        with suppress(DatabaseError):
            _mine(piece).update(lease_until=None)
        raise
    finally:
        over.set()
        thread.join()


def _keep(piece: Model, over: threading.Event) -> None:
    ends = time.monotonic() + KEPT_SECONDS
    try:
        while not over.wait(KEEP_SECONDS) and time.monotonic() < ends:
            try:
                if not _renew(piece):
                    return
                sign()
            except DatabaseError:
                log.warning("the lease of %s could not be renewed", piece, exc_info=True)
                connection.close()
    finally:
        connection.close()


def settle(piece: Model, **values: Any) -> None:
    """Write the end of a piece, if its lease is still ours; raises Taken."""
    if not _mine(piece).update(lease_until=None, **values):
        raise Taken


def teller(piece: Model, watchers: Sequence[str]) -> Callable[..., None]:
    """Writes progress down, renews the lease with it, and announces it, twice a second at most."""
    told = time.monotonic()

    def tell(**values: int) -> None:
        nonlocal told
        if time.monotonic() - told < TELL_SECONDS:
            return
        told = time.monotonic()
        if not _renew(piece, **values):
            raise Taken
        sign()
        announce(watchers)

    return tell


def _renew(piece: Model, **values: int) -> bool:
    until = rows.now() + timedelta(seconds=LEASE_SECONDS)
    mine = _mine(piece)
    _leases(piece).append(until)
    return bool(mine.update(lease_until=until, **values))


def sign() -> None:
    """Say that work on files goes on: a process may live, and never take a message again."""
    QueueSign.objects.note(FILES, rows.now())


def announce(watchers: Sequence[str]) -> None:
    """Tell the pages that show these ids to look again."""
    for watcher in watchers:
        signals.announce_batch(watcher)


def _mine(piece: Model) -> QuerySet[Any]:
    """The row, while the lease on it is one of ours."""
    return type(piece)._default_manager.filter(pk=piece.pk, lease_until__in=list(_leases(piece)))


def _leases(piece: Model) -> deque[datetime]:
    found: deque[datetime] = piece.__dict__.setdefault("own_leases", deque(maxlen=OWN_LEASES))
    return found
