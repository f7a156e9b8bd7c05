"""Celery tasks, each a line or three."""

import gc
import logging
import time

import redis
from celery.signals import celeryd_after_setup, worker_ready, worker_shutdown, worker_shutting_down
from django.conf import settings
from kombu.exceptions import OperationalError

from batchboard import rows
from batchboard.models import Batch, PairTally, Tally
from dispatch import pump as pumping
from dispatch import submission_tasks
from dispatch.celery import CALLS, app
from dispatch.runner import Runner

log = logging.getLogger(__name__)

NUDGE_KEY = "batchboard:nudge"
NUDGE_SECONDS = 2
GRANT_EXPIRES_SECONDS = 10
SHORTEST_WAIT_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 2.0

_redis = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)


class Process:
    """What this worker process is; a process without a runner only pumps."""

    runner: Runner | None = None
    makes_calls = False
    node = ""
    pumps_at = 0.0
    """When the next round that was asked for by this process is due, on the monotonic clock."""


@app.task
def pump() -> None:
    """One round of the pump; sends its grants, and re-arms itself where time alone will help."""
    _forget_nudge()
    pumped = pumping.pump()
    for grant in pumped.grants:
        take.apply_async((grant.number,), **_to(grant.node))
    for node in pumped.nodes:
        ping.apply_async(**_to(node))
    submission_tasks.nudge_if_due()
    if pumped.retry_in is not None and pumped.retry_in < LONGEST_WAIT_SECONDS:
        _pump_again(max(SHORTEST_WAIT_SECONDS, pumped.retry_in))


@app.task
def take(grant: int) -> None:
    """Begin the calls of a grant."""
    if Process.runner is not None:
        Process.runner.consumed()
        Process.runner.take(grant)


@app.task
def ping() -> None:
    """Prove that this worker consumes."""
    if Process.runner is not None:
        Process.runner.consumed()


@app.task
def tidy() -> None:
    """Clear away what killed processes left, and sum up what was cancelled."""
    Batch.objects.discard_abandoned(rows.now())
    Tally.objects.catch_up()
    PairTally.objects.catch_up()


def nudge() -> None:
    """Ask for a round of the pump soon. Nudges fold into one that is pending; a lost one costs
    the seconds until beat's next."""
    try:
        if _redis.set(NUDGE_KEY, 1, nx=True, ex=NUDGE_SECONDS):
            pump.apply_async(expires=NUDGE_SECONDS * 2, retry=False)
    except (redis.RedisError, OperationalError, OSError) as error:
        log.info("no nudge, the broker is away: %s", error)


def _pump_again(wait: float) -> None:
    """Ask for another round, unless one comes as soon: beat and nudges bring rounds too, and if
    each went on asking for the next, there would be more of them all the while."""
    now = time.monotonic()
    if not now < Process.pumps_at <= now + wait:
        pump.apply_async(countdown=wait, expires=wait + 2)
        Process.pumps_at = now + wait


def _forget_nudge() -> None:
    try:
        _redis.delete(NUDGE_KEY)
    except redis.RedisError as error:
        log.info("the broker is away: %s", error)


def _to(node: str) -> dict[str, object]:
    """How a message reaches one worker: its own queue, and only while it is of use."""
    return {"queue": f"{node}.dq2", "expires": GRANT_EXPIRES_SECONDS, "retry": False}


@celeryd_after_setup.connect
def _remember_queues(sender: str, instance: object, **_: object) -> None:
    Process.makes_calls = CALLS in instance.app.amqp.queues.consume_from  # type: ignore[attr-defined]
    Process.node = sender


@worker_ready.connect
def _start_runner(**_: object) -> None:
    if Process.makes_calls:
        Process.runner = Runner(Process.node)
        Process.runner.start()
    # What was loaded by now stays: the collector need not walk it again and again, which would
    # stop a worker for a tenth of a second each time.
    gc.collect()
    gc.freeze()
    nudge()


@worker_shutting_down.connect
def _stop_admitting(**_: object) -> None:
    if Process.runner is not None:
        Process.runner.drain()


@worker_shutdown.connect
def _stop_runner(**_: object) -> None:
    if Process.runner is not None:
        Process.runner.stop()
