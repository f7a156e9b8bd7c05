"""Carries the domain's announcements to Redis: nudges for the pump, changes for whoever watches."""

import logging
import time

import redis
from django.conf import settings

from batchboard import signals

log = logging.getLogger(__name__)
CHANNEL = "batchboard:changes"
QUIET_SECONDS = 2.0
_redis = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=0.5, socket_connect_timeout=0.5)


class _Publisher:
    """Publishes changes, and says nothing for a while where nobody took the last one: who records
    calls announces too, and must not wait each time for a broker that does not answer."""

    def __init__(self) -> None:
        self._quiet_until = 0.0

    def publish(self, batch: str) -> None:
        if time.monotonic() < self._quiet_until:
            return
        try:
            _redis.publish(CHANNEL, batch)
        except redis.RedisError as error:
            self._quiet_until = time.monotonic() + QUIET_SECONDS
            log.debug("nobody hears of %s: %s", batch, error)


_publisher = _Publisher()


def connect() -> None:
    signals.work_available.connect(_nudge, dispatch_uid="nudge")
    signals.batch_changed.connect(_publish, dispatch_uid="publish")


def _nudge(**_: object) -> None:
    from dispatch.tasks import nudge

    nudge()


def _publish(batch: str, **_: object) -> None:
    _publisher.publish(batch)
