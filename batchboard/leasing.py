"""Pieces of work that wait in the database: whoever works on one holds its lease, and one whose
worker died is begun anew when that lease runs out."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from batchboard import rows, signals
from batchboard.models import QueueSign
from batchboard.models.queue_sign import FILES

M = TypeVar("M", bound=Model)

LEASE_SECONDS = 20
TELL_SECONDS = 0.5


class Taken(Exception):
    """The lease ran out, and another process has the piece now."""


def claim(waiting: QuerySet[M]) -> M | None:
    """The oldest piece whose lease is free, with a new lease on it; None where there is none."""
    now = rows.now()
    free = waiting.filter(Q(lease_until=None) | Q(lease_until__lt=now)).order_by("pk")
    for piece in free[:5]:
        until = now + timedelta(seconds=LEASE_SECONDS)
        if _mine(piece).update(lease_until=until):
            piece.lease_until = until  # type: ignore[attr-defined]
            return piece
    return None


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
        until = rows.now() + timedelta(seconds=LEASE_SECONDS)
        if not _mine(piece).update(lease_until=until, **values):
            raise Taken
        piece.lease_until = until  # type: ignore[attr-defined]
        sign()
        announce(watchers)

    return tell


def sign() -> None:
    """Say that work on files goes on: a process may live, and never take a message again."""
    QueueSign.objects.note(FILES, rows.now())


def announce(watchers: Sequence[str]) -> None:
    """Tell the pages that show these ids to look again."""
    for watcher in watchers:
        signals.announce_batch(watcher)


def _mine(piece: Model) -> QuerySet[Any]:
    lease = piece.lease_until  # type: ignore[attr-defined]
    return type(piece)._default_manager.filter(pk=piece.pk, lease_until=lease)
