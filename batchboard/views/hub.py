"""Tells the browsers of one web process which batches changed.

One subscription to Redis, however many browsers watch, and only while one does. Redis only saves
time here: what it loses, a browser hears of with the next tick.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress

from django.conf import settings
from redis import RedisError
from redis.asyncio import Redis

from dispatch.announce import CHANNEL

log = logging.getLogger(__name__)

FOLD_SECONDS = 0.5
"""How long what changes is gathered before a browser hears of it: two events a second at most."""

TICK_SECONDS = 10.0
"""How often a browser hears of everything it watches, whether or not anything was announced."""

FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 10.0

Changes = Callable[[], AsyncIterator[str | None]]


class Listener:
    """One browser: it hears of the board, and of the one batch that it may be looking at."""

    def __init__(self, batch: str = "") -> None:
        self.batch = batch
        self._pending: set[str] = set()
        self._woken = asyncio.Event()
        self.hear(None)

    def hear(self, batch: str | None) -> None:
        """A batch changed; None: anything may have changed."""
        self._pending.add("board")
        if self.batch and batch in {None, self.batch}:
            self._pending.add(f"batch-{self.batch}")
        self._woken.set()

    async def news(self) -> AsyncIterator[list[str]]:
        """Names of what changed, folded; never silent for longer than a tick."""
        loop = asyncio.get_running_loop()
        tick = loop.time() + TICK_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(tick):
                    await self._woken.wait()
            if loop.time() >= tick:
                self.hear(None)
                tick = loop.time() + TICK_SECONDS
            self._woken.clear()
            names, self._pending = sorted(self._pending), set()
            yield names
            await asyncio.sleep(FOLD_SECONDS)


class Hub:
    """Passes what `changes` yields on to everybody who listens."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._listeners: set[Listener] = set()
        self._following: asyncio.Task[None] | None = None

    @contextmanager
    def listening(self, batch: str = "") -> Iterator[Listener]:
        listener = Listener(batch)
        self._listeners.add(listener)
        if self._following is None:
            self._following = asyncio.create_task(self._follow())
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners and self._following is not None:
                self._following.cancel()
                self._following = None

    def tell(self, batch: str | None) -> None:
        """Let everybody hear that a batch changed; None: anything may have changed."""
        for listener in self._listeners:
            listener.hear(batch)

    async def _follow(self) -> None:
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                async for batch in self._changes():
                    wait = FIRST_WAIT_SECONDS
                    self.tell(batch)
            except (RedisError, OSError) as error:
                log.info("live updates go by the clock until Redis is back: %s", error)
            await asyncio.sleep(wait)
            wait = min(LONGEST_WAIT_SECONDS, wait * 2)


async def announced_changes() -> AsyncIterator[str | None]:
    """Public ids of batches as they are announced; first None, for what was missed before."""
    async with (
        Redis.from_url(
            settings.REDIS_URL, socket_connect_timeout=2, health_check_interval=15
        ) as redis,
        redis.pubsub() as channel,
    ):
        await channel.subscribe(CHANNEL)
        yield None
        async for message in channel.listen():
            if message["type"] == "message":
                yield message["data"].decode(errors="replace")


hub = Hub(announced_changes)
