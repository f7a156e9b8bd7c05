"""Which items an address asks for: the filter of the table, and where its page begins."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from batchboard.states import ItemState
from batchboard.whole_numbers import whole_number
from dispatch.outcome import Outcome

LONGEST = 200
LARGEST_POSITION = 2**31 - 1
FAILED = [str(outcome) for outcome in Outcome if outcome is not Outcome.OK]


@dataclass(frozen=True)
class Asked:
    """A state, how the last try ended, what to find in key or problem, and an edge of the page.

    Pages go by position, and by key where something is searched for, since that is the order that
    the index of keys yields.
    """

    state: str = ""
    outcome: str = ""
    find: str = ""
    after: str = ""
    before: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Asked":
        state, outcome = query.get("state", ""), query.get("outcome", "")
        find = _clean(query.get("find", "").strip())
        edges = {
            name: _clean(value)
            for name in ("after", "before")
            if (value := query.get(name, "")) and (find or _position(value) is not None)
        }
        return cls(
            state if state in list(ItemState) else "",
            outcome if outcome in FAILED else "",
            find,
            **edges,
        )

    @property
    def column(self) -> str:
        return "key" if self.find else "position"

    @property
    def filtered(self) -> bool:
        """Whether it asks for less than all items."""
        return bool(self.state or self.outcome or self.find)

    def edge(self, value: str) -> str | int:
        return value if self.find else int(value)

    def address(self, **changes: str) -> str:
        """The query of a page like this one; a page of its own for anything that changes."""
        kept = {"state": self.state, "outcome": self.outcome, "find": self.find} | changes
        given = {name: value for name, value in kept.items() if value}
        return f"?{urlencode(given)}" if given else "?"

    @property
    def filter(self) -> str:
        """The query of the filter alone, or nothing where there is none."""
        return self.address() if self.filtered else ""

    @property
    def without_outcome(self) -> str:
        return self.address(outcome="")

    @property
    def here(self) -> str:
        """The query of exactly this page."""
        return self.address(after=self.after, before=self.before)


def _clean(text: str) -> str:
    return text.replace("\x00", "")[:LONGEST]


def _position(value: str) -> int | None:
    number = whole_number(value)
    return None if number is None or number > LARGEST_POSITION else number
