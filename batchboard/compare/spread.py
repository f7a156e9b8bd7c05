"""How the costs of many items are spread, in a few sums that add up from batch to batch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sums:
    """How many values there are, their sum, and the sum of their squares: whole numbers, so that
    nothing is rounded however they are added up."""

    count: int = 0
    total: int = 0
    squares: int = 0

    @classmethod
    def of(cls, values: Sequence[int]) -> "Sums":
        return cls(len(values), sum(values), sum(value * value for value in values))

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    @property
    def strayed(self) -> float:
        """The sum of the squared distances of the values from their mean."""
        if not self.count:
            return 0.0
        return (self.count * self.squares - self.total * self.total) / self.count

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.count + other.count, self.total + other.total, self.squares + other.squares
        )

    def changed(self, old: Sequence[int], new: Sequence[int]) -> "Sums":
        """The same with some values in place of others."""
        gone, come = Sums.of(old), Sums.of(new)
        return Sums(
            self.count, self.total + come.total - gone.total,
            self.squares + come.squares - gone.squares,
        )  # fmt: skip


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
        every, ok = self.all, self.ok
        squares = ok.count * every.squares - 2 * every.total * ok.total + every.total**2
        variance = squares * every.count / ((every.count - 1) * ok.count**3)
        return every.total / ok.count, variance
