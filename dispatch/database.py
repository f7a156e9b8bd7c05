"""The connection to the database as long-lived threads see it: it may go away, and comes back."""

from contextlib import suppress

from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, connections

AWAY = (OperationalError, InterfaceError, InternalError)
"""The database is away, or for a moment takes no writes, and will be back; any other of its errors
is a fault of what was asked."""


def hand_back_connection() -> None:
    """Return a pooled connection; an SQLite file costs nothing to keep open."""
    connection = connections["default"]
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()


def close_connections() -> None:
    """Keep none open, not even to an SQLite file: for threads that come and go, and for streams,
    which need the database only as they begin."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


def drop_connection() -> None:
    """Let go of a connection that may be broken; the next statement opens another."""
    for connection in connections.all(initialized_only=True):
        with suppress(DatabaseError, InterfaceError):
            connection.close()
