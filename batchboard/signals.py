"""What the domain announces, so that it need not know who acts on it.

Both are sent after the transaction that they tell of has been committed, and neither may be relied
on: whoever misses one finds the truth in the database.
"""

from django.dispatch import Signal

work_available = Signal()
"""Something may run now that could not before."""

batch_changed = Signal()
"""A batch changed; `batch` is its public id."""


def announce_work() -> None:
    """Something may be admitted now: a batch, a limit or an item changed."""
    work_available.send(sender=None)


def announce_batch(public_id: str) -> None:
    """A batch changed, or whatever else has a page with this id."""
    batch_changed.send(sender=None, batch=public_id)


def announce_limits() -> None:
    """Every page shows the limits, so whoever watches a batch or the board looks again."""
    batch_changed.send(sender=None, batch="limits")
