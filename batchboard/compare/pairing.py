"""The same items under two ways of working, in a few sums from which the ratio of costs follows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import mul

from batchboard.compare.data import TaskCost
from batchboard.compare.ratio import Ratio

OK, FULL, KNOWN = range(3)
"""Of a task: 1 where it succeeded, all that it cost, and the part of that which is no bound."""

COLUMNS = 3
PRODUCTS = [(one, other) for one in range(2 * COLUMNS) for other in range(one, 2 * COLUMNS)]


@dataclass(frozen=True, slots=True)
class PairSums:
    """Sums over the items that two arms both did: how many, the sum of each column of the first
    arm and then of the second, and the sums of the products of every two columns. They are whole
    numbers: what follows from them is what follows from the items, to the last digit."""

    count: int
    totals: tuple[int, ...]
    products: tuple[int, ...]

    @classmethod
    def of(cls, one: Iterable[TaskCost], other: Iterable[TaskCost]) -> "PairSums":
        """Raises ValueError where a key is twice in an arm."""
        first, second = _by_key(one), _by_key(other)
        keys = [key for key in first if key in second]
        columns = [*_columns(first, keys), *_columns(second, keys)]
        return cls(
            len(keys),
            tuple(map(sum, columns)),
            tuple(sum(map(mul, columns[a], columns[b])) for a, b in PRODUCTS),
        )

    @property
    def succeeded(self) -> int:
        """Items of the arm with fewer results."""
        return min(self.totals[OK], self.totals[COLUMNS + OK])

    def turned(self) -> "PairSums":
        """The same with the second arm first."""
        places = [*range(COLUMNS, 2 * COLUMNS), *range(COLUMNS)]
        return PairSums(
            self.count,
            tuple(self.totals[place] for place in places),
            tuple(self._product(places[a], places[b]) for a, b in PRODUCTS),
        )

    def ratio(self, after: int = FULL, before: int = FULL) -> Ratio:
        """The cost per success of the second arm over that of the first, counting FULL or KNOWN
        costs. Each has a success at least, and there are two items.

        An item without a result has its cost spread over the others (the linearised ratio of two
        means), so that it counts for as much as it moves the cost per success.
        """
        one, other = (OK, before), (COLUMNS + OK, COLUMNS + after)
        return Ratio(
            self.totals[other[1]] / self.totals[other[0]],
            self.totals[one[1]] / self.totals[one[0]],
            self._covariance(other, other),
            self._covariance(one, one),
            self.count,
            self.count,
            paired=True,
            covariance=self._covariance(one, other),
        )

    def _covariance(self, one: tuple[int, int], other: tuple[int, int]) -> float:
        """Of the costs per success of two columns of results and costs."""
        (ok, cost), (other_ok, other_cost) = one, other
        results, spent = self.totals[ok], self.totals[cost]
        other_results, other_spent = self.totals[other_ok], self.totals[other_cost]
        apart = (
            results * other_results * self._product(cost, other_cost)
            - spent * other_results * self._product(ok, other_cost)
            - other_spent * results * self._product(cost, other_ok)
            + spent * other_spent * self._product(ok, other_ok)
        )
        return self.count * apart / ((self.count - 1) * (results * other_results) ** 2)

    def _product(self, one: int, other: int) -> int:
        low, high = sorted((one, other))
        return self.products[PRODUCTS.index((low, high))]


@dataclass(frozen=True)
class Pairing:
    """The sums of every two arms, by their places among the arms, the lower one first."""

    sums: Mapping[tuple[int, int], PairSums]

    @classmethod
    def of(cls, arms: Sequence[Sequence[TaskCost]]) -> "Pairing":
        """Raises ValueError where a key is twice in an arm."""
        places = combinations(range(len(arms)), 2)
        return cls({(a, b): PairSums.of(arms[a], arms[b]) for a, b in places})

    def between(self, before: int, after: int) -> PairSums:
        """Those of the arms at two places, that at `before` first."""
        if before < after:
            return self.sums[before, after]
        return self.sums[after, before].turned()

    def as_json(self) -> list[list[int]]:
        """Plain values, from which `of_json` makes the same again."""
        return [
            [*places, one.count, *one.totals, *one.products] for places, one in self.sums.items()
        ]

    @classmethod
    def of_json(cls, stored: Iterable[Sequence[int]]) -> "Pairing":
        return cls(dict(map(_stored, stored)))


def _stored(row: Sequence[int]) -> tuple[tuple[int, int], PairSums]:
    before, after, count, *rest = row
    totals, products = rest[: 2 * COLUMNS], rest[2 * COLUMNS :]
    return (before, after), PairSums(count, tuple(totals), tuple(products))


def _columns(tasks: Mapping[str, TaskCost], keys: Sequence[str]) -> Iterator[list[int]]:
    found = [tasks[key] for key in keys]
    yield [int(task.ok) for task in found]
    yield [task.cost for task in found]
    yield [task.cost - task.unknown for task in found]


def _by_key(tasks: Iterable[TaskCost]) -> dict[str, TaskCost]:
    found: dict[str, TaskCost] = {}
    for task in tasks:
        if task.key in found:
            raise ValueError(f"{task.key} is twice in an arm, so it cannot be paired.")
        found[task.key] = task
    return found
