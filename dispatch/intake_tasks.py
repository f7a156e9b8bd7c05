"""The Celery tasks for files, and for recurring batches, which are made as files are. They have a
queue and a worker of their own: a long file must keep neither the pump nor calls waiting."""

import logging

from kombu.exceptions import OperationalError

from batchboard import filing, rows
from batchboard.models import Recurring
from dispatch.celery import app

log = logging.getLogger(__name__)
NUDGE_EXPIRES_SECONDS = 10


@app.task  # type: ignore[untyped-decorator]
def work_through() -> None:
    """Read and store what waits. Beat asks for it every few seconds, so a lost message costs no
    more than those."""
    filing.work_through()


@app.task  # type: ignore[untyped-decorator]
def fire_recurring() -> None:
    """Take the times of recurring batches that came; their batches are made as files are."""
    if Recurring.objects.fire_due(rows.now()):
        nudge()


def nudge() -> None:
    """Something waits now."""
    try:
        work_through.apply_async(expires=NUDGE_EXPIRES_SECONDS, retry=False)
    except (OperationalError, OSError) as error:
        log.info("files wait for beat, the broker is away: %s", error)
