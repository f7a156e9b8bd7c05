"""How many results a person looks at, and what that proves. Exact hypergeometric arithmetic.

`population` is the number of results, `sample` how many of them were looked at, `bad` how many of
the population are bad, `bad_seen` how many bad ones the look found.
"""

from fractions import Fraction
from math import ceil, comb

# With one result in five bad, a look at so many sees a bad one in at least
# 67, 79, 86 and 91 of a hundred draws: 1 - 0.8 ** size, and more from a small population.
_SIZES = ((100, 5), (1_000, 7), (10_000, 9))
_LARGEST_SIZE = 11
_BAD_SHARE = Fraction(1, 5)
_NARROW_SPACE = "\u202f"


def default_size(population: int) -> int:
    """How many to look at unless someone asks for more: 5 of 39, 9 of 2,000, all of a few."""
    _check(population)
    size = next((size for most, size in _SIZES if population <= most), _LARGEST_SIZE)
    return min(population, size)


def chance_of_seeing(population: int, bad: int, sample: int) -> float:
    """The chance that a random sample holds at least one of the bad results."""
    _check(population, bad=bad, sample=sample)
    return float(_chance(population, bad, sample))


def upper_bound(population: int, sample: int, bad_seen: int, confidence: float = 0.95) -> int:
    """The most bad results that the population can hold, at a one-sided confidence.

    The largest number of bad ones with which a sample would show `bad_seen` or fewer with a
    chance of more than 1 - confidence.
    """
    _check(population, sample=sample)
    _check_seen(bad_seen, sample)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}")
    doubt = 1 - Fraction(str(confidence))
    fewest, most = bad_seen, population - (sample - bad_seen)
    while fewest < most:
        middle = (fewest + most + 1) // 2
        if _chance_of_at_most(bad_seen, population, middle, sample) > doubt:
            fewest = middle
        else:
            most = middle - 1
    return fewest


def sentence(population: int, sample: int, bad_seen: int) -> str:
    """What the look proves, in words. Percentages are rounded down: they never claim too much."""
    _check(population, sample=sample)
    _check_seen(bad_seen, sample)
    seen = f"{bad_seen:,} bad of {sample:,}"
    if not population:
        return f"{seen} results: there was nothing to look at"
    if sample == population:
        all_of_them = "result: it" if population == 1 else "results: every one"
        return f"{seen} {all_of_them} was looked at"
    whole = f"{seen} from {population:,} results"
    if not sample:
        return f"{whole}: nothing was looked at, so nothing is known"
    if bad_seen:
        most = upper_bound(population, sample, bad_seen)
        return f"{whole}: with {_percent(Fraction(19, 20))} confidence at most {most:,} are bad"
    bad = ceil(population * _BAD_SHARE)
    one = "it" if bad == 1 else "one"
    chance = _percent(_chance(population, bad, sample))
    return f"{whole}: were {bad:,} of them bad, you would have seen {one} with {chance}"


def _chance(population: int, bad: int, sample: int) -> Fraction:
    # Sample and bad can change places in the formula; the smaller keeps the numbers short.
    few, many = sorted((bad, sample))
    return 1 - Fraction(comb(population - many, few), comb(population, few))


def _chance_of_at_most(seen: int, population: int, bad: int, sample: int) -> Fraction:
    ways = sum(comb(bad, k) * comb(population - bad, sample - k) for k in range(seen + 1))
    return Fraction(ways, comb(population, sample))


def _percent(share: Fraction) -> str:
    return f"{share * 100 // 1}{_NARROW_SPACE}%"


def _check(population: int, **parts: int) -> None:
    if population < 0:
        raise ValueError(f"population must not be negative, not {population}")
    for name, part in parts.items():
        if not 0 <= part <= population:
            raise ValueError(f"{name} must be between 0 and {population}, not {part}")


def _check_seen(bad_seen: int, sample: int) -> None:
    if not 0 <= bad_seen <= sample:
        raise ValueError(f"bad_seen must be between 0 and {sample}, not {bad_seen}")
