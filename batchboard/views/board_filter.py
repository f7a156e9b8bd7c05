"""What somebody asked the board to show, as it stands in the address."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q

from batchboard.models import Batch
from batchboard.models.batch import BatchQuerySet
from batchboard.states import OPEN_BATCH, UNFINISHED_BATCH, BatchState
from batchboard.views.columns import BY_NAME, CARDS_SHOWN
from batchboard.whole_numbers import whole_number

MOST_CARDS = 150
"""More cards than these in one column help nobody: the filter finds the others."""

LONGEST_TEXT = 100
_BLOCKED = Q(state__in=UNFINISHED_BATCH) & ~Q(blocked="")
STATES = {
    "person": ("Needs a person", Q(state=BatchState.REVIEW) | _BLOCKED),
    "blocked": ("Blocked", _BLOCKED),
    "paused": ("Paused", Q(state=BatchState.PAUSED)),
    "waiting": ("Waits for a limit", Q(state__in=OPEN_BATCH, blocked="") & ~Q(waits_for="")),
    "dead": ("Has dead letters", Q(dead__gt=0)),
}


@dataclass(frozen=True)
class BoardFilter:
    """Task type and owner by primary key, a state of `STATES`, a part of the name; `column` is the
    one that a narrow screen was asked to show, `cards` how many each column shows beyond the first
    fifty."""

    type: int | None = None
    owner: int | None = None
    state: str = ""
    q: str = ""
    ended: bool = False
    column: str = ""
    cards: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, query: Mapping[str, Any]) -> "BoardFilter":
        state, column = query.get("state", ""), query.get("column", "")
        cards = {name: whole_number(query.get(name, "")) for name in BY_NAME}
        ended = bool(query.get("ended"))
        return cls(
            type=whole_number(query.get("type", "")),
            owner=whole_number(query.get("owner", "")),
            state=state if state in STATES else "",
            q=query.get("q", "").strip()[:LONGEST_TEXT].replace("\0", ""),
            ended=ended,
            column=column if column in BY_NAME and (ended or column != "ended") else "",
            cards={
                name: min(MOST_CARDS, number)
                for name, number in cards.items()
                if number is not None and number > CARDS_SHOWN
            },
        )

    @property
    def narrows(self) -> bool:
        """Whether it shows less than all batches."""
        return bool(self.type or self.owner or self.state or self.q)

    @property
    def asks(self) -> str:
        """What a batch must have to be shown: “scan” in its name and the state “Blocked”."""
        parts = (
            f"“{self.q}” in its name or as its id" if self.q else "",
            "the chosen task type" if self.type else "",
            "the chosen owner" if self.owner else "",
            f"the state “{STATES[self.state][0]}”" if self.state else "",
        )
        return " and ".join(part for part in parts if part)

    def batches(self) -> BatchQuerySet:
        found = Batch.objects.on_board()
        if self.type:
            found = found.filter(version__task_type=self.type)
        if self.owner:
            found = found.filter(owner=self.owner)
        if self.state:
            found = found.filter(STATES[self.state][1])
        if self.q:
            found = found.filter(Q(name__icontains=self.q) | Q(public_id=self.q))
        return found

    def most(self, column: str) -> int:
        return self.cards.get(column, CARDS_SHOWN)

    def address(self, **changes: Any) -> str:
        """The query of the board as it is, with changes; the first page of everything is "?"."""
        asked: dict[str, Any] = {
            "type": self.type,
            "owner": self.owner,
            "state": self.state,
            "q": self.q,
            "ended": "1" if self.ended else "",
            "column": self.column,
            **self.cards,
        } | changes
        return "?" + urlencode({name: value for name, value in asked.items() if value})
