"""Conversations of a batch: which of them can take the next item, and which must be begun."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from batchboard import rows
from batchboard.models import Attempt
from batchboard.models.run_options import SESSION_SECONDS, SESSION_TOKENS
from dispatch.modes.work import Turn
from dispatch.outcome import Outcome

IDLE = """
SELECT s.id, s.items, s.tokens, s.bytes, s.most_items, s.most_tokens, s.ends_at
FROM batchboard_session s
WHERE s.batch_id = %s AND s.open AND s.ends_at > %s AND NOT EXISTS (
    SELECT 1 FROM batchboard_attempt a WHERE a.session_id = s.id AND a.ended_at IS NULL
) ORDER BY s.last_at DESC, s.id
"""
SESSION = (
    "batch_id", "items", "tokens", "bytes", "most_items", "most_tokens", "started_at", "ends_at",
    "last_at", "open",
)  # fmt: skip
TOOK = (
    "UPDATE batchboard_session SET items = items + 1, tokens = %s, bytes = bytes + %s,"
    " last_at = %s, open = (items + 1 < most_items AND %s < most_tokens) WHERE id = %s"
)


@dataclass(slots=True)
class Conversation:
    """What a session holds so far. `id` is None until it is written down."""

    id: int | None
    items: int
    tokens: int
    bytes: int
    most_items: int
    most_tokens: int
    ends_at: datetime

    @property
    def last(self) -> bool:
        """Whether the next turn is its last."""
        return self.items + 1 >= self.most_items


class Conversations:
    """Those of one batch, in one round of admission."""

    def __init__(
        self,
        batch: int,
        size: int,
        seconds: int | None,
        tokens: int | None,
        now: datetime,
        turn_seconds: float,
    ) -> None:
        self.batch = batch
        self.size = size
        self.now = now
        self._until = now + timedelta(seconds=turn_seconds)
        self._seconds = SESSION_SECONDS if seconds is None else seconds
        self._tokens = SESSION_TOKENS if tokens is None else tokens
        self._idle: list[Conversation] | None = None

    def next(self) -> Conversation:
        """The one that was used last, whose cache is warmest, and that has the time and room for
        another turn; else a new one. The same until it is taken."""
        if self._idle is None:
            found = rows.execute(IDLE, [self.batch, self._until])
            self._idle = [_conversation(*columns) for columns in reversed(found)]
        if not self._idle:
            ends_at = self.now + timedelta(seconds=self._seconds)
            self._idle.append(Conversation(None, 0, 0, 0, self.size, self._tokens, ends_at))
        return self._idle[-1]

    def take(self) -> None:
        """The next one is busy from now on."""
        if self._idle:
            self._idle.pop()


def _conversation(
    id: int, items: int, tokens: int, size: int, most_items: int, most_tokens: int, ends_at: Any
) -> Conversation:
    ends = rows.moment(ends_at)
    assert ends is not None
    return Conversation(id, items, tokens, size, most_items, most_tokens, ends)


def write(begun: Sequence[tuple[int, Conversation]], now: datetime) -> None:
    """Write down conversations that begin, each with its batch; they have an id then."""
    values = [
        (batch, 0, 0, 0, new.most_items, new.most_tokens, now, new.ends_at, now, True)
        for batch, new in begun
    ]
    ids = sorted(
        id for (id,) in rows.insert_rows("batchboard_session", SESSION, values, returning="id")
    )
    for id, (_, new) in zip(ids, begun, strict=True):
        new.id = id


def took(session: int, tokens: int, size: int, now: datetime) -> None:
    """A turn succeeded: the context has so many tokens now, and `size` bytes more."""
    rows.execute(TOOK, [tokens, size, now, tokens, session])


def turns_of(sessions: Sequence[int]) -> dict[int, list[Turn]]:
    """What conversations hold so far: their turns that succeeded, in the order they were taken."""
    turns: dict[int, list[Turn]] = defaultdict(list)
    if sessions:
        ended = Attempt.objects.filter(session__in=sessions, outcome=Outcome.OK).order_by("id")
        said = ended.values_list("session", "item__input__data", "answer__text")
        for session, data, reply in said:
            turns[session].append(Turn(data, reply))
    return turns
