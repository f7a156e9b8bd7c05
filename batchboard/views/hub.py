"""Tells the browsers of one web process what changed, in two ways.

Figures that changed where they stand are **patched**: painted once for everybody who sees the same,
and sent along with the event, so that no browser has to ask. What moved, came or went is **named**:
each browser then asks for its own fragment, once a second at most.

One subscription to Redis, however many browsers watch, and only while one does. Redis only saves
time here: what it loses, a browser hears of with the next tick.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress

from django.conf import settings
from redis import RedisError
from redis.asyncio import Redis

from batchboard.views.painting import Painted, Painter, View
from dispatch.announce import CHANNEL

log = logging.getLogger(__name__)

PATCH_SECONDS = 0.2
"""How long changes are gathered before they are painted again."""

FOLD_SECONDS = 1.0
"""How long names are gathered before a browser hears of them: two requests in a second at most,
however late one of them comes, and a quarter fewer to answer than every 0.75 s. Figures do not wait
for it."""

TICK_SECONDS = 10.0
"""How often a browser hears of everything it watches, whether or not anything was announced."""

FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 10.0

PATCH = "patch"
Event = tuple[str, str]
"""A name, and its data: HTML for a patch, else nothing."""

Changes = Callable[[], AsyncIterator[str | None]]


Paint = Callable[[Set[str], Set[View]], Awaitable[Painted]]
"""Paints what changed of batches, named by their public ids, for each of some views."""


class Listener:
    """One browser."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._names: set[str] = set()
        self._patches: dict[str, str] = {}
        self._woken = asyncio.Event()
        self._names_from = 0.0
        self.hear_all()

    def hear(self, name: str) -> None:
        """Something with this name changed; the browser asks for it."""
        self._names.add(name)
        self._woken.set()

    def hear_all(self) -> None:
        self.hear("board")
        if self.view.batch:
            self.hear(f"batch-{self.view.batch}")
        if self.view.watched:
            self.hear("watched")

    def show(self, patches: Mapping[str, str]) -> None:
        """Elements to be put in place, by id; later ones of an id replace earlier ones."""
        if patches:
            self._patches.update(patches)
            self._woken.set()

    def sent(self, events: Sequence[Event]) -> None:
        """These news left only now, which may be late: names that follow keep their distance."""
        if any(name != PATCH for name, _ in events):
            self._names_from = asyncio.get_running_loop().time() + FOLD_SECONDS

    async def news(self) -> AsyncIterator[list[Event]]:
        """Patches as they come, and names, folded; never silent for longer than a tick."""
        loop = asyncio.get_running_loop()
        tick, self._names_from = loop.time() + TICK_SECONDS, loop.time()
        while True:
            with suppress(TimeoutError):
                until = min(tick, self._names_from) if self._names else tick
                async with asyncio.timeout_at(until):
                    await self._woken.wait()
            self._woken.clear()
            if loop.time() >= tick:
                self.hear_all()
                tick = loop.time() + TICK_SECONDS
            events: list[Event] = []
            if self._patches:
                events.append((PATCH, "".join(self._patches.values())))
                self._patches = {}
            if self._names and loop.time() >= self._names_from:
                events += [(name, "") for name in sorted(self._names)]
                self._names = set()
                self._names_from = loop.time() + FOLD_SECONDS
            if events:
                yield events


class Hub:
    """Passes what `changes` yields on to everybody who listens."""

    def __init__(self, changes: Changes, paint: Paint) -> None:
        self._changes = changes
        self._paint = paint
        self._listeners: set[Listener] = set()
        self._changed: set[str] = set()
        self._stirred = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._told = 0

    @property
    def told(self) -> int | None:
        """How often everybody was told what changed; None while nobody listens. What was read
        after one telling holds all that it told of."""
        return self._told if self._tasks else None

    @contextmanager
    def listening(self, view: View) -> Iterator[Listener]:
        listener = Listener(view)
        self._listeners.add(listener)
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(work) for work in (self._follow(), self._show_changes())
            ]
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners:
                for task in self._tasks:
                    task.cancel()
                self._tasks = []

    def tell(self, batch: str | None) -> None:
        """A batch changed; None: anything may have changed."""
        if batch is None:
            self._told += 1
            for listener in self._listeners:
                listener.hear_all()
            return
        self._changed.add(batch)
        self._stirred.set()

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

    async def _show_changes(self) -> None:
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            changed, self._changed = self._changed, set()
            self._told += 1
            views = {listener.view for listener in self._listeners}
            try:
                painted = await self._paint(changed, views)
            except Exception:
                log.exception("changes could not be painted: browsers ask for them")
                painted = Painted()
            for listener in self._listeners:
                listener.show(painted.patches.get(listener.view, {}))
                if painted.moved:
                    listener.hear("board")
                if listener.view.batch in changed:
                    listener.hear(f"batch-{listener.view.batch}")
                if not listener.view.watched.isdisjoint(changed):
                    listener.hear("watched")
            await asyncio.sleep(PATCH_SECONDS)


async def announced_changes() -> AsyncIterator[str | None]:
    """Public ids of batches as they are announced; None where anything may have changed, as at
    first, for what was missed before."""
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
                name = message["data"].decode(errors="replace")
                yield None if name == "limits" else name


hub = Hub(announced_changes, Painter())
