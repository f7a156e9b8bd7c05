"""The Celery task that sends and collects message batches, on the worker for files: what it sends
and reads is as long as they are."""

import logging
import threading

from kombu.exceptions import OperationalError

from batchboard import rows
from batchboard.models import Submission
from dispatch import submissions
from dispatch.celery import app

log = logging.getLogger(__name__)
NUDGE_EXPIRES_SECONDS = 4
_one_at_a_time = threading.Lock()


@app.task  # type: ignore[untyped-decorator]
def work_through() -> None:
    """Do what is due. Beat asks for it every few seconds, so a lost message costs no more than
    those. One thread of the worker does it at a time: a person who gives it a file never waits
    until thousands of results are in."""
    if _one_at_a_time.acquire(blocking=False):
        try:
            submissions.work_through()
        finally:
            _one_at_a_time.release()


def nudge_if_due() -> None:
    """Ask for it where something is due now."""
    if not Submission.objects.due(rows.now()).exists():
        return
    try:
        work_through.apply_async(expires=NUDGE_EXPIRES_SECONDS, retry=False)
    except (OperationalError, OSError) as error:
        log.info("message batches wait for beat, the broker is away: %s", error)
