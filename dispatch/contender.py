"""A batch that asks for slots: its settings, its line of items, and what keeps it back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from batchboard import rows
from batchboard.models import Limits, Schedule
from batchboard.models.run_options import group_size
from batchboard.states import Block, Wait
from dispatch.buckets import Need
from dispatch.conversations import Conversations
from dispatch.live import Live
from dispatch.modes import MODES, RequestMode
from dispatch.modes.cached import lifetime
from dispatch.modes.provider_batch import LIFETIME
from dispatch.modes.queued import Queued
from dispatch.modes.work import VersionWork
from dispatch.versions import work_of

TOKENS_PER_BYTE = 0.4
OUTPUT_SHARE = 0.5
"""Stand in for this version's own measurements until there are any; on the high side, because what
was not used is given back."""

BATCHES_AT_ONCE = 200
"""One decision looks at so many batches: those with an item that may be called come first, so that
batches whose items are all under way cannot keep the others out."""

TURN_BYTES = 50
"""What the provider may put around the texts of one turn of a conversation."""

OPEN_BATCHES = """
SELECT b.id, b.public_id, b.version_id, b.mode, b.schedule, b.concurrency, b.first_look,
       b.looked, b.group_size, b.session_timeout, b.session_tokens, b.cache_salt, b.budget,
       b.unpriced_ok,
       b.cost + b.unknown_cost AS spent, b.item_timeout, b.priority, b.total,
       b.succeeded + b.dead + b.cancelled AS ended, b.cursor, b.wave, b.wave_left, b.state,
       b.waits_for, b.waits_until, b.deadline_at, c.warm_until, COALESCE(m.calls, 0),
       COALESCE(m.items, 0), COALESCE(m.output_tokens, 0), COALESCE(m.latency_ms, 0),
       COALESCE(m.bytes, 0) + v.counted_bytes, COALESCE(m.input_tokens, 0) + v.counted_tokens
FROM batchboard_batch b JOIN batchboard_taskversion v ON v.id = b.version_id
LEFT JOIN batchboard_measured m ON m.version_id = b.version_id AND m.mode = b.mode
LEFT JOIN batchboard_warmcache c
    ON c.version_id = b.version_id AND c.mode = b.mode AND c.salt = b.cache_salt
WHERE b.state IN ('queued', 'running') AND b.blocked = ''
ORDER BY CASE WHEN b.cursor < b.total OR EXISTS (
    SELECT 1 FROM batchboard_item i
    WHERE i.batch_id = b.id AND i.state = 'waiting' AND i.due_at IS NOT NULL AND i.due_at <= %s
) THEN 0 ELSE 1 END, b.priority DESC, b.id LIMIT %s
"""
RETURNED = """
SELECT id, key, position, prompt_bytes, outcome, EXISTS (
    SELECT 1 FROM batchboard_attempt a
    WHERE a.item_id = batchboard_item.id AND a.outcome = 'truncated'
) FROM batchboard_item
WHERE batch_id = %s AND state = 'waiting' AND due_at IS NOT NULL AND due_at <= %s
ORDER BY due_at LIMIT %s
"""
FRESH = """
SELECT id, key, position, prompt_bytes, '', FALSE FROM batchboard_item
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
    group_size: int | None
    session_timeout: int | None
    session_tokens: int | None
    cache_salt: str
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
    warm_until: datetime | None
    seen_calls: int
    seen_items: int
    seen_output_tokens: int
    seen_latency_ms: int
    weighed_bytes: int
    weighed_tokens: int

    def __post_init__(self) -> None:
        self.waits_until = rows.moment(self.waits_until)
        self.deadline_at = rows.moment(self.deadline_at)
        self.warm_until = rows.moment(self.warm_until)


class Contender:
    """One batch in one round of admission."""

    def __init__(self, row: Row, live: Live, limits: Limits, now: datetime) -> None:
        self.row = row
        self.now = now
        self.work: VersionWork = work_of(row.version_id)
        self.mode: RequestMode = MODES[row.mode]
        self.group = group_size(row.mode, row.group_size)
        self.in_flight = (live.submitted if self.mode.submits else live.by_batch)[row.id]
        self.reserved = live.reserved_by_batch[row.id]
        self.taken = 0
        self.waits: str = ""
        self.waits_until: datetime | None = None
        self.block: tuple[Block, str] | None = None
        self.size = row.concurrency or limits.cap
        if row.schedule == Schedule.WAVES and not row.wave_left and not self.in_flight:
            row.wave += 1
            # What waits for the provider gains nothing from being held apart, unless N says so.
            apart = row.concurrency is not None or not self.mode.submits
            row.wave_left = self.size if apart else row.total
        warm = row.warm_until is not None and row.warm_until > now
        # What a single call writes nobody reads; but it may read what others wrote.
        self.shares = (warm or row.total > self.group) and self.mode.caches(self.work)
        self.cache = self._lifetime(limits) if self.shares or self.mode.converses else ""
        self.alone = self.shares and not warm and not self.mode.submits
        self.conversations = Conversations(
            row.id, self.group, row.session_timeout, row.session_tokens, now, self._latency()
        )
        self._line: list[Queued] = []
        self._reached = row.cursor
        self._again: set[int] = set()
        self._exhausted = False

    @property
    def order(self) -> tuple[int, int, int]:
        """Fewest in flight first, then priority, then age."""
        return self.in_flight, -self.row.priority, self.row.id

    @property
    def work_key(self) -> tuple[int, str, str]:
        """What calls share that share a cache."""
        return self.row.version_id, self.row.mode, self.row.cache_salt

    def obstacle(self, live: Live) -> Wait | None:
        """What of the batch's own settings keeps its next call back."""
        row = self.row
        if row.concurrency and self.in_flight >= row.concurrency:
            return Wait.SLOT
        if self.mode.converses and self.in_flight >= -(-row.total // self.group):
            # More conversations at once would each hold fewer items than they may.
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

    def next(self, chunk: int) -> list[Queued]:
        """The items of the next call, first in line first: returned ones that are due, then fresh
        ones; none where nothing is ready. They stay in line until they are taken."""
        if len(self._line) < self.group and not self._exhausted:
            wanted = chunk * self.group
            found = self._fetch(wanted)
            self._line += found
            self._exhausted = len(found) < wanted
        if not self._line:
            return []
        return self._line[: self.mode.together(self.work, self._line, self.group)]

    def take(self, items: int, reserved: int) -> None:
        """The next call, of so many items, was let through."""
        taken, self._line = self._line[:items], self._line[items:]
        self.in_flight += 1
        self.taken += 1
        self.reserved += reserved
        self.row.cursor = max(self.row.cursor, *(item.position + 1 for item in taken))
        if self.mode.converses:
            self.conversations.take()
        if self.row.schedule == Schedule.WAVES:
            self.row.wave_left -= 1

    def need(self, items: Sequence[Queued]) -> Need:
        """What a call for `items` is expected to take from the model's buckets."""
        row = self.row
        ratio = row.weighed_tokens / row.weighed_bytes if row.weighed_bytes else TOKENS_PER_BYTE
        size = sum(item.prompt_bytes for item in items)
        if self.alone or not self.shares:
            size += self.work.shared_bytes
        output = (
            row.seen_output_tokens / row.seen_items
            if row.seen_items
            else self.work.max_tokens * OUTPUT_SHARE
        )
        read = size * ratio
        if self.mode.converses and self.conversations.next().items:
            read += output
        return Need(1, max(1, round(read)), max(1, round(output * len(items))))

    @property
    def timeout(self) -> float:
        """Seconds that the next call may take: the item's, within what is left of the session."""
        if not self.mode.converses:
            return self.row.item_timeout
        left = (self.conversations.next().ends_at - self.now).total_seconds()
        return min(self.row.item_timeout, left)

    def bound(self, items: Sequence[Queued]) -> int:
        """The most bytes, and so tokens, that the prompt of a call for `items` can have, beside
        the provider's own."""
        size = self.mode.weight(sum(item.prompt_bytes for item in items), len(items))
        if self.mode.converses:
            going_on = self.conversations.next()
            size += going_on.bytes + TURN_BYTES * going_on.items
        return self.work.shared_bytes + len(self.row.cache_salt) + size

    def next_due(self) -> datetime | None:
        """When the first returned item may be called again."""
        return rows.moment(rows.execute(NEXT_DUE, [self.row.id, self.now])[0][0])

    def _latency(self) -> float:
        """Mean seconds of a call of this version and mode; 0 where none was measured."""
        row = self.row
        return row.seen_latency_ms / row.seen_calls / 1000 if row.seen_calls else 0.0

    def _lifetime(self, limits: Limits) -> str:
        """How long what is written to the cache should live, by how far apart calls will be."""
        if self.mode.submits:
            return LIFETIME
        row = self.row
        looks = row.first_look and not row.looked and self.size < row.total
        gap = self._latency() / max(1, min(self.size, row.total))
        per_minute = float(limits.configured("rpm")) * float(limits.configured("headroom"))
        return lifetime(max(gap, 60 / per_minute), looks=looks)

    def _fetch(self, count: int) -> list[Queued]:
        # What was taken in this round still stands in the line until the round is written.
        row = self.row
        returned = rows.execute(RETURNED, [row.id, self.now, count + len(self._again)])
        found = [columns for columns in returned if columns[0] not in self._again][:count]
        self._again.update(columns[0] for columns in found)
        if len(found) < count:
            end = self.size if row.first_look and not row.looked else row.total
            fresh = rows.execute(FRESH, [row.id, self._reached, end, count - len(found)])
            self._reached = max([self._reached, *(position + 1 for _, _, position, *_ in fresh)])
            found += fresh
        return [Queued(*columns) for columns in found]


def contenders(live: Live, limits: Limits, now: datetime) -> list[Contender]:
    """All batches that may ask, first in line first."""
    found = rows.execute(OPEN_BATCHES, [now, BATCHES_AT_ONCE])
    return [Contender(Row(*columns), live, limits, now) for columns in found]
