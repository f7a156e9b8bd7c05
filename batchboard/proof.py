"""What a review proves so far, and what it will prove: sentences, and the bars of its chart.

`population` is the number of results, `drawn` how many of them are in the sample, `judged` and
`bad` how many of those got a verdict, and a bad one. Every bar is two chances of seeing a bad one:
by what is judged so far, and by the whole sample.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from batchboard.sampling import chance_of_seeing, sentence, upper_bound

FIFTH = Fraction(1, 5)
SHARES = tuple(Fraction(*share) for share in ((1, 8), (1, 4), (1, 2), (1, 1), (3, 2), (2, 1)))
"""The bars beside that of one result in five, as shares of it."""

WIDTH, HEIGHT, TOP, FLOOR = 270, 112, 16, 96
GAP = 14


@dataclass(frozen=True)
class Bar:
    """The chances, as whole percentages, if `bad` of the population were bad; and its geometry."""

    bad: int
    so_far: int
    at_end: int
    is_fifth: bool
    x: float
    width: float

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 1)

    @property
    def end_height(self) -> float:
        return _height(self.at_end)

    @property
    def end_y(self) -> float:
        return FLOOR - self.end_height

    @property
    def label_y(self) -> float:
        return self.end_y - 5

    @property
    def so_far_height(self) -> float:
        return _height(self.so_far)

    @property
    def so_far_y(self) -> float:
        return FLOOR - self.so_far_height


@dataclass(frozen=True)
class Proof:
    """`lead` is the sentence that matters most, with its `chance` apart where it has one."""

    lead: str
    chance: int | None = None
    so_far: str = ""
    bound: str = ""
    bars: tuple[Bar, ...] = ()
    more: int = 0

    @property
    def chart(self) -> str:
        """The chart in a sentence."""
        return "; ".join(f"{bar.bad:,} bad: {bar.at_end}\u202f%" for bar in self.bars)


@lru_cache(maxsize=256)
def proof(population: int, drawn: int, judged: int, bad: int) -> Proof:
    """Of a sample as far as it was judged; its words and bars say what follows from that."""
    more = min(drawn, population - drawn)
    if not drawn:
        return Proof("No item succeeded, so there is nothing to look at.")
    if drawn == population:
        return Proof(_all_of(population, judged, bad))
    bars = _bars(population, drawn, judged)
    if bad:
        lead = f"{sentence(population, judged, bad)}."
        return Proof(lead, bars=bars, more=more, bound=_with_bad(population, drawn, judged, bad))
    fifth = _fifth(population)
    condition = f"If all {drawn:,} pass: were" if judged < drawn else f"All {drawn:,} passed: were"
    return Proof(
        f"{condition} a fifth bad ({fifth:,} of {population:,}), you would have seen one with",
        chance=percent(population, fifth, drawn),
        so_far=f"So far: {sentence(population, judged, bad)}." if 0 < judged < drawn else "",
        bound=_without_bad(population, drawn, judged, more),
        bars=bars,
        more=more,
    )


def percent(population: int, bad: int, sample: int) -> int:
    """The chance of seeing a bad one, rounded down: it never claims too much."""
    return int(chance_of_seeing(population, bad, sample) * 100 + 1e-9)


def _all_of(population: int, judged: int, bad: int) -> str:
    results = "The one result is" if population == 1 else f"All {population:,} results are"
    left = population - judged
    if left:
        return f"{results} in the sample, so nothing is left to chance: {left:,} to judge."
    return f"{results} judged, so nothing is left to chance: {bad:,} bad."


def _with_bad(population: int, drawn: int, judged: int, bad: int) -> str:
    if judged == drawn:
        return ""
    most = upper_bound(population, drawn, bad)
    return (
        f"If the rest of the {drawn:,} pass, at most {most:,} of {population:,} are bad"
        " (95\u202f% certain)."
    )


def _without_bad(population: int, drawn: int, judged: int, more: int) -> str:
    start = f"If all {drawn:,} pass, at" if judged < drawn else "At"
    most = upper_bound(population, drawn, 0)
    said = f"{start} most {most:,} of {population:,} are bad (95\u202f% certain)."
    if not more:
        return said
    if drawn + more == population:
        return f"{said} With {more:,} more drawn, every one is looked at."
    return f"{said} With {more:,} more drawn, at most {upper_bound(population, drawn + more, 0):,}."


def _fifth(population: int) -> int:
    return ceil(population * FIFTH)


def _bars(population: int, drawn: int, judged: int) -> tuple[Bar, ...]:
    fifth = _fifth(population)
    numbers = sorted({min(population, max(1, int(fifth * share))) for share in SHARES})
    step = WIDTH / len(numbers)
    return tuple(
        Bar(
            bad=number,
            so_far=percent(population, number, judged),
            at_end=percent(population, number, drawn),
            is_fifth=number == fifth,
            x=round(place * step + GAP / 2, 1),
            width=round(step - GAP, 1),
        )
        for place, number in enumerate(numbers)
    )


def _height(share: int) -> float:
    return round((FLOOR - TOP) * share / 100, 1)
