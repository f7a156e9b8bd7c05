"""How the costs of many items are spread, in a few sums that add up from batch to batch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sums:
    """How many values there are, their sum, and the sum of their squared distances from their
    mean."""

    count: int = 0
    total: int = 0
    squares: float = 0.0

    @classmethod
    def of(cls, values: Sequence[int]) -> "Sums":
        if not values:
            return cls()
        total = sum(values)
        mean = total / len(values)
        return cls(len(values), total, sum((value - mean) ** 2 for value in values))

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def __add__(self, other: "Sums") -> "Sums":
        count = self.count + other.count
        if not self.count or not other.count:
            return self if self.count else other
        apart = self.mean - other.mean
        between = apart * apart * self.count * other.count / count
        return Sums(count, self.total + other.total, self.squares + other.squares + between)

    def changed(self, old: Sequence[int], new: Sequence[int]) -> "Sums":
        """The same with some values in place of others."""
        moved = sum(new) - sum(old)
        off_new = sum((value - self.mean) ** 2 for value in new)
        off_old = sum((value - self.mean) ** 2 for value in old)
        shift = moved * moved / self.count
        squares = max(0.0, self.squares + off_new - off_old - shift)
        return Sums(self.count, self.total + moved, squares)


@dataclass(frozen=True, slots=True)
class Spread:
    """Units of money that items cost: those that succeeded and those that did not, with unknown
    costs at their bound and, as `known`, without them."""

    ok: Sums = field(default_factory=Sums)
    dead: Sums = field(default_factory=Sums)
    known_ok: Sums = field(default_factory=Sums)
    known_dead: Sums = field(default_factory=Sums)

    @classmethod
    def of(cls, tasks: Iterable[tuple[int, bool, int]]) -> "Spread":
        """Of the cost of each item, whether it succeeded, and the unknown part of the cost."""
        rows = list(tasks)
        return cls(
            *(
                Sums.of([cost - unknown * known for cost, ok, unknown in rows if ok is wanted])
                for known in (0, 1)
                for wanted in (True, False)
            )
        )

    def __add__(self, other: "Spread") -> "Spread":
        return Spread(
            self.ok + other.ok,
            self.dead + other.dead,
            self.known_ok + other.known_ok,
            self.known_dead + other.known_dead,
        )

    @property
    def known(self) -> "Spread":
        """The same without what is only a bound."""
        return Spread(self.known_ok, self.known_dead, self.known_ok, self.known_dead)

    @property
    def all(self) -> Sums:
        return self.ok + self.dead

    def per_success(self) -> tuple[float, float]:
        """The mean cost of each item that succeeded, those of the others included, and the variance
        of that mean (the linearised ratio of cost and success). At least one has to succeed, and
        there have to be two."""
        count, succeeded = self.ok.count + self.dead.count, self.ok.count
        mean = (self.ok.total + self.dead.total) / succeeded
        squares = self.ok.squares + succeeded * (self.ok.mean - mean) ** 2
        squares += self.dead.squares + self.dead.count * self.dead.mean**2
        share = succeeded / count
        return mean, squares / (count - 1) / count / share**2
