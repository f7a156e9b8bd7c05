"""What somebody asked the ledger to show, as it stands in the address."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from batchboard.ledger import By, Chosen
from batchboard.whole_numbers import whole_number

DAYS_AT_FIRST = 30
LONGEST = 100
RANGES = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year"))


@dataclass(frozen=True)
class LedgerAsked:
    """How attempts are grouped, which of them, the group whose attempts are listed, and the
    attempt after which the list begins."""

    by: By
    chosen: Chosen
    today: date
    group: str = ""
    after: int | None = None

    @classmethod
    def of(cls, query: Mapping[str, Any], today: date) -> "LedgerAsked":
        """Without dates, the last 30 days; an empty date leaves its side open. What cannot be read
        counts as not given."""
        first = today - timedelta(days=DAYS_AT_FIRST - 1)
        since = _day(query.get("since"), first)
        until = _day(query.get("until"), None)
        if since and until and since > until:
            since, until = until, since
        by = query.get("by", "")
        asked = cls(
            By(by) if by in list(By) else By.DAY,
            Chosen(
                since=since,
                until=until,
                type=whole_number(query.get("type", "")),
                model=_text(query.get("model", "")),
                mode=_text(query.get("mode", "")),
                owner=whole_number(query.get("owner", "")),
            ),
            today,
            after=whole_number(query.get("after", "")),
        )
        group = _text(query.get("group", ""))
        return replace(asked, group=group) if asked._narrowed(group) else asked

    @property
    def listed(self) -> Chosen:
        """The attempts that are listed one by one: those of the group, where one is chosen."""
        return (self._narrowed(self.group) or self.chosen) if self.group else self.chosen

    @property
    def narrows(self) -> bool:
        chosen = self.chosen
        return bool(chosen.model or chosen.mode) or {chosen.type, chosen.owner} != {None}

    @property
    def ranges(self) -> list[tuple[str, str, bool]]:
        """Spans of days that end today, each with its address and whether it is shown."""
        found = []
        for days, title in RANGES:
            since = self.today - timedelta(days=days - 1)
            here = self.chosen.since == since and self.chosen.until in {None, self.today}
            found.append((self.address(since=since.isoformat(), until=""), title, here))
        all_ = self.chosen.since is None and self.chosen.until is None
        return [*found, (self.address(since="", until=""), "All", all_)]

    def address(self, **changes: str) -> str:
        """The query of a page like this one, with changes; of its list from the beginning."""
        return "?" + urlencode(self._kept(changes))

    def shows(self, group: str) -> str:
        """The query of the page that lists the attempts of a group."""
        return self.address(group=group)

    def rest(self, after: int) -> str:
        """The query of the list's next page."""
        return self.address(group=self.group, after=str(after))

    def _kept(self, changes: dict[str, str]) -> dict[str, str]:
        chosen, first = self.chosen, self.today - timedelta(days=DAYS_AT_FIRST - 1)
        asked = {
            "by": "" if self.by is By.DAY else str(self.by),
            "since": chosen.since.isoformat() if chosen.since else "",
            "until": chosen.until.isoformat() if chosen.until else "",
            "type": "" if chosen.type is None else str(chosen.type),
            "model": chosen.model,
            "mode": chosen.mode,
            "owner": "" if chosen.owner is None else str(chosen.owner),
        } | changes
        kept = {name: value for name, value in asked.items() if value}
        if not asked["since"]:
            kept["since"] = ""
        elif asked["since"] == first.isoformat():
            del kept["since"]
        return kept

    def _narrowed(self, group: str) -> Chosen | None:
        """What is chosen, narrowed to a group; None where it is none."""
        if not group:
            return None
        if self.by is By.DAY:
            day = _day(group, None)
            return replace(self.chosen, since=day, until=day) if day else None
        value: Any = whole_number(group) if self.by in {By.TYPE, By.OWNER} else group
        return None if value is None else replace(self.chosen, **{str(self.by): value})


def _day(text: Any, otherwise: date | None) -> date | None:
    if text == "":
        return None
    try:
        return date.fromisoformat(str(text))
    except ValueError:
        return otherwise


def _text(text: str) -> str:
    return text.replace("\x00", "")[:LONGEST]
