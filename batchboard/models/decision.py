"""The one lock, which whatever moves items or decides what may be sent takes first."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection, transaction

from batchboard.models.limits import Limits


@contextmanager
def decision() -> Iterator[Limits]:
    """A transaction that holds the governor's lock, as everything that moves items must.

    One lock, always taken first: so nobody can hold a batch that another, who holds its items,
    waits for.
    """
    with turn(), transaction.atomic():
        limits = Limits.objects.select_for_update().filter(pk=1).first()
        yield limits or Limits.objects.get_or_create(pk=1)[0]


@contextmanager
def turn() -> Iterator[None]:
    """What goes around every longer writing transaction. On SQLite, wait for one's turn before it
    begins: a file lock wakes the next in line at once, where SQLite itself would sleep and look
    again."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    with (settings.DATA_DIR / "turn").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
