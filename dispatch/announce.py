"""Carries the domain's announcements to Redis: nudges for the pump, changes for who watches."""

import logging

import redis
from django.conf import settings

from batchboard import signals

log = logging.getLogger(__name__)
CHANNEL = "batchboard:changes"
_redis = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=0.5, socket_connect_timeout=0.5)


def connect() -> None:
    signals.work_available.connect(_nudge, dispatch_uid="nudge")
    signals.batch_changed.connect(_publish, dispatch_uid="publish")


def _nudge(**_: object) -> None:
    from dispatch.tasks import nudge

    nudge()


def _publish(batch: str, **_: object) -> None:
    try:
        _redis.publish(CHANNEL, batch)
    except redis.RedisError as error:
        log.debug("nobody hears of %s: %s", batch, error)
