"""A batch that asks for slots: its settings, its line of items, and what keeps it back."""

from dataclasses import dataclass
from datetime import datetime

from batchboard import rows
from batchboard.models import Limits, Schedule
from batchboard.states import Block, Wait
from dispatch.buckets import Need
from dispatch.live import Live
from dispatch.modes import MODES, RequestMode
from dispatch.modes.work import VersionWork
from dispatch.versions import work_of

TOKENS_PER_BYTE = 0.4
OUTPUT_SHARE = 0.5
"""Stand in for this version's own measurements until there are any; on the high side, because what
was not used is given back."""

BATCHES_AT_ONCE = 200

OPEN_BATCHES = """
SELECT b.id, b.public_id, b.version_id, b.mode, b.schedule, b.concurrency, b.first_look,
       b.looked, b.budget, b.unpriced_ok,
       b.cost + b.unknown_cost AS spent, b.item_timeout, b.priority, b.total,
       b.succeeded + b.dead + b.cancelled AS ended, b.cursor, b.wave, b.wave_left, b.state,
       b.waits_for, b.waits_until, b.deadline_at, v.cache_warm_until, v.seen_calls,
       v.seen_output_tokens, v.seen_bytes + v.counted_bytes AS weighed_bytes,
       v.seen_input_tokens + v.counted_tokens AS weighed_tokens
FROM batchboard_batch b JOIN batchboard_taskversion v ON v.id = b.version_id
WHERE b.state IN ('queued', 'running') AND b.blocked = ''
ORDER BY b.priority DESC, b.id LIMIT %s
"""
RETURNED = """
SELECT id, key, position, prompt_bytes, EXISTS (
    SELECT 1 FROM batchboard_attempt a
    WHERE a.item_id = batchboard_item.id AND a.outcome = 'truncated'
) FROM batchboard_item
WHERE batch_id = %s AND state = 'waiting' AND due_at IS NOT NULL AND due_at <= %s
ORDER BY due_at LIMIT %s
"""
FRESH = """
SELECT id, key, position, prompt_bytes, FALSE FROM batchboard_item
WHERE batch_id = %s AND position >= %s AND position < %s AND state = 'waiting' AND due_at IS NULL
ORDER BY position LIMIT %s
"""
NEXT_DUE = """
SELECT MIN(due_at) FROM batchboard_item
WHERE batch_id = %s AND state = 'waiting' AND due_at IS NOT NULL AND due_at > %s
"""


@dataclass(slots=True)
class Row:
    """A batch's columns in the order of OPEN_BATCHES; money in units."""

    id: int
    public_id: str
    version_id: int
    mode: str
    schedule: str
    concurrency: int | None
    first_look: bool
    looked: bool
    budget: int | None
    unpriced_ok: bool
    spent: int
    item_timeout: int
    priority: int
    total: int
    ended: int
    cursor: int
    wave: int
    wave_left: int
    state: str
    waits_for: str
    waits_until: datetime | None
    deadline_at: datetime | None
    cache_warm_until: datetime | None
    seen_calls: int
    seen_output_tokens: int
    weighed_bytes: int
    weighed_tokens: int

    def __post_init__(self) -> None:
        self.waits_until = rows.moment(self.waits_until)
        self.deadline_at = rows.moment(self.deadline_at)
        self.cache_warm_until = rows.moment(self.cache_warm_until)


@dataclass(slots=True)
class Candidate:
    """An item that may be called now."""

    id: int
    key: str
    position: int
    prompt_bytes: int
    widened: bool
    """Whether it is sent with twice the tokens, because an answer of it was cut off."""


class Contender:
    """One batch in one round of admission."""

    def __init__(self, row: Row, live: Live, limits: Limits, now: datetime) -> None:
        self.row = row
        self.now = now
        self.work: VersionWork = work_of(row.version_id)
        self.mode: RequestMode = MODES[row.mode]
        self.caches = self.mode.caches(self.work)
        self.in_flight = live.by_batch[row.id]
        self.reserved = live.reserved_by_batch[row.id]
        self.taken = 0
        self.waits: str = ""
        self.waits_until: datetime | None = None
        self.block: tuple[Block, str] | None = None
        self.size = row.concurrency or limits.cap
        if row.schedule == Schedule.WAVES and not row.wave_left and not self.in_flight:
            row.wave += 1
            row.wave_left = self.size
        self.alone = self.mode.alone(self.work, row.cache_warm_until, now)
        self._line: list[Candidate] = []
        self._again: set[int] = set()
        self._exhausted = False

    @property
    def order(self) -> tuple[int, int, int]:
        """Fewest in flight first, then priority, then age."""
        return self.in_flight, -self.row.priority, self.row.id

    @property
    def work_key(self) -> tuple[int, str]:
        """What calls share that share a cache."""
        return self.row.version_id, self.row.mode

    def obstacle(self, live: Live) -> Wait | None:
        """What of the batch's own settings keeps its next call back."""
        row = self.row
        if row.concurrency and self.in_flight >= row.concurrency:
            return Wait.SLOT
        if row.schedule == Schedule.WAVES and not row.wave_left:
            return Wait.WAVE
        if self.alone and live.by_work[self.work_key]:
            return Wait.CACHE
        return None

    def stands_still(self) -> tuple[Block, str] | None:
        """A reason of the batch's own to wait for a person."""
        if self.row.deadline_at and self.row.deadline_at <= self.now:
            return Block.DEADLINE, "The batch's time is over."
        looks = self.row.first_look and not self.row.looked and not self.in_flight
        if looks and min(self.size, self.row.total) <= self.row.ended < self.row.total:
            return Block.FIRST_LOOK, f"The first {self.row.ended} items are done: look at them."
        return None

    def next(self, chunk: int) -> Candidate | None:
        """The item that is next in line: returned ones that are due, then fresh ones."""
        if not self._line and not self._exhausted:
            self._line = self._fetch(chunk)
            self._exhausted = len(self._line) < chunk
        return self._line[0] if self._line else None

    def take(self, reserved: int) -> None:
        """The next item was let through."""
        item = self._line.pop(0)
        self.in_flight += 1
        self.taken += 1
        self.reserved += reserved
        self.row.cursor = max(self.row.cursor, item.position + 1)
        if self.row.schedule == Schedule.WAVES:
            self.row.wave_left -= 1

    def need(self, item: Candidate) -> Need:
        """What a call for `item` is expected to take from the model's buckets."""
        row = self.row
        ratio = row.weighed_tokens / row.weighed_bytes if row.weighed_bytes else TOKENS_PER_BYTE
        size = item.prompt_bytes
        if self.alone or not self.caches:
            size += self.work.shared_bytes
        output = (
            row.seen_output_tokens / row.seen_calls
            if row.seen_calls
            else self.work.max_tokens * OUTPUT_SHARE
        )
        return Need(1, max(1, round(size * ratio)), max(1, round(output)))

    def next_due(self) -> datetime | None:
        """When the first returned item may be called again."""
        return rows.moment(rows.execute(NEXT_DUE, [self.row.id, self.now])[0][0])

    def _fetch(self, count: int) -> list[Candidate]:
        # What was taken in this round still stands in the line until the round is written.
        row = self.row
        returned = rows.execute(RETURNED, [row.id, self.now, count + len(self._again)])
        found = [columns for columns in returned if columns[0] not in self._again][:count]
        self._again.update(columns[0] for columns in found)
        if len(found) < count:
            end = self.size if row.first_look and not row.looked else row.total
            found += rows.execute(FRESH, [row.id, row.cursor, end, count - len(found)])
        return [Candidate(*columns) for columns in found]


def contenders(live: Live, limits: Limits, now: datetime) -> list[Contender]:
    """All batches that may ask, first in line first."""
    found = rows.execute(OPEN_BATCHES, [BATCHES_AT_ONCE])
    return [Contender(Row(*columns), live, limits, now) for columns in found]
