"""The prompt cache: what a call reads and writes, and when an entry can be read."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from .prompt import Breakpoint, Prompt
from .usage import Usage

LOOKBACK_BLOCKS = 20
MAX_ENTRIES = 20_000
HOUR = 3600


@dataclass(slots=True)
class Entry:
    ttl: int
    expires: float


@dataclass(frozen=True, slots=True)
class CachePlan:
    """The input side of a call's usage, and the entries that its answer will make readable."""

    usage: Usage
    writes: tuple[tuple[int, int], ...] = ()


class PromptCache:
    """Times are monotonic seconds."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}

    def plan(
        self, prompt: Prompt, min_cacheable: int, now: float, *, readable: bool = True
    ) -> CachePlan:
        """Decided when a call arrives; reading refreshes an entry's time to live."""
        points = [
            point
            for point in prompt.breakpoints
            if prompt.prefix_tokens(point.block) >= min_cacheable
        ]
        if not points:
            return CachePlan(Usage(prompt.tokens))
        read = self._read(prompt, points, now) if readable else 0
        return _written(prompt, points, read)

    def begin(self, plan: CachePlan, now: float) -> None:
        """The answer begins: from now on others can read what this call wrote."""
        for key, ttl in plan.writes:
            self._entries[key] = Entry(ttl, now + ttl)
        if len(self._entries) > MAX_ENTRIES:
            self._evict(now)

    def _read(self, prompt: Prompt, points: list[Breakpoint], now: float) -> int:
        """Tokens of the longest prefix that is cached, at a breakpoint or shortly before it."""
        longest = 0
        for point in points:
            for block in _lookback(point):
                entry = self._entries.get(prompt.prefix_key(block))
                if entry is not None and entry.expires > now:
                    entry.expires = now + entry.ttl
                    longest = max(longest, prompt.prefix_tokens(block))
                    break
        return longest

    def _evict(self, now: float) -> None:
        live = {key: entry for key, entry in self._entries.items() if entry.expires > now}
        self._entries = dict(islice(live.items(), len(live) // 2, None))


def _lookback(point: Breakpoint) -> Iterable[int]:
    return range(point.block, max(-1, point.block - LOOKBACK_BLOCKS), -1)


def _written(prompt: Prompt, points: list[Breakpoint], read: int) -> CachePlan:
    """What lies between what is read and the last breakpoint is written, each part at its TTL."""
    written = {True: 0, False: 0}
    writes: list[tuple[int, int]] = []
    reached = read
    for point in points:
        tokens = prompt.prefix_tokens(point.block)
        if tokens > reached:
            written[point.ttl >= HOUR] += tokens - reached
            writes.append((prompt.prefix_key(point.block), point.ttl))
            reached = tokens
    usage = Usage(prompt.tokens - reached, written[False], written[True], read)
    return CachePlan(usage, tuple(writes))
