"""What a batch did and cost, in sums that add up from batch to batch. Arithmetic alone."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from functools import reduce
from itertools import accumulate
from typing import Any, Self

from batchboard.compare.data import Done
from batchboard.compare.spread import Spread, Sums
from batchboard.pricing import Usage

LATENCY_STEP = 20
"""Milliseconds that are not told apart."""

USAGES, NUMBERS = (
    tuple(one.name for one in fields(Done) if one.type is kind) for kind in (Usage, int)
)

Stretch = tuple[datetime, datetime]


@dataclass(frozen=True, kw_only=True)
class BatchSums(Done):
    """What the items of a batch did and cost. `latencies` counts items by steps of latency,
    `at_work` are stretches of time in which calls were in flight, in order and apart."""

    latencies: Counter[int] = field(default_factory=Counter)
    at_work: tuple[Stretch, ...] = ()

    @classmethod
    def total(cls, parts: Sequence["BatchSums"]) -> Self:
        """Of all of them together; quick for a thousand."""
        latencies: Counter[int] = Counter()
        for part in parts:
            latencies.update(part.latencies)
        numbers: dict[str, Any] = {
            name: sum(getattr(part, name) for part in parts) for name in NUMBERS
        }
        usages: dict[str, Any] = {
            name: added([getattr(part, name) for part in parts]) for name in USAGES
        }
        return cls(
            spread=reduce(Spread.__add__, (part.spread for part in parts), Spread()),
            latencies=latencies,
            at_work=merged(stretch for part in parts for stretch in part.at_work),
            **usages,
            **numbers,
        )

    @property
    def seconds_at_work(self) -> float:
        """Wall time in which at least one call was in flight, give or take ten seconds a pause."""
        return sum((end - start for start, end in self.at_work), timedelta()).total_seconds()

    def latency(self, share: float) -> int | None:
        """Milliseconds that the calls of a share of the results took no longer than."""
        steps = sorted(self.latencies)
        if not steps:
            return None
        sums = list(accumulate(self.latencies[step] for step in steps))
        return steps[bisect_left(sums, share * sums[-1])] * LATENCY_STEP

    def as_json(self) -> dict[str, Any]:
        """Plain values, from which `of_json` makes the same again."""
        spread = [getattr(self.spread, one.name) for one in fields(Spread)]
        return {
            "spread": [[sums.count, sums.total, sums.squares] for sums in spread],
            "latencies": sorted(self.latencies.items()),
            "at_work": [[start.isoformat(), end.isoformat()] for start, end in self.at_work],
            **{name: getattr(self, name).by_kind for name in USAGES},
            **{name: getattr(self, name) for name in NUMBERS},
        }

    @classmethod
    def of_json(cls, stored: dict[str, Any]) -> Self:
        usages: dict[str, Any] = {name: Usage(*stored[name]) for name in USAGES}
        return cls(
            spread=Spread(*(Sums(*sums) for sums in stored["spread"])),
            latencies=Counter(dict(stored["latencies"])),
            at_work=tuple(
                (datetime.fromisoformat(start), datetime.fromisoformat(end))
                for start, end in stored["at_work"]
            ),
            **usages,
            **{name: stored[name] for name in NUMBERS},
        )


def added(parts: Iterable[Usage]) -> Usage:
    """Tokens, or money, of all of them together by kind."""
    return Usage(*map(sum, zip(*(part.by_kind for part in parts), strict=True)))


def merged(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """The same time in stretches that do not touch."""
    apart: list[Stretch] = []
    for start, end in sorted(stretches):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], end))
        else:
            apart.append((start, end))
    return tuple(apart)
