"""What is left to chance, and how an experiment's money is shared out; arithmetic alone.

Chance comes from a stored seed, so that what was drawn can be drawn again.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from random import Random
from typing import TypeVar

from batchboard.money import share_out

T = TypeVar("T")


def draw(seed: str, things: Iterable[T], size: int, key: Callable[[T], str] = str) -> list[T]:
    """A simple random sample of `things`, in the order of sha256(seed + key).

    It does not depend on the order in which they come, and a larger sample begins with the
    smaller, so drawing more only adds. Memory grows with `size`, not with how many there are.
    """

    def rank(thing: T) -> bytes:
        return sha256((seed + key(thing)).encode()).digest()

    return heapq.nsmallest(size, things, key=rank)


def shuffled(seed: str, things: Iterable[T]) -> list[T]:
    """The same things in an order that the seed decides."""
    found = list(things)
    Random(seed).shuffle(found)  # noqa: S311 - an order, no secret
    return found


def budget_shares(budget: int, arms: Sequence[tuple[int, int]]) -> list[int]:
    """A budget among arms of which the expected and the worst cost are known, all in units of
    money; the shares are the budget to the last unit.

    Each arm gets what it is expected to cost, and the rest goes by how much dearer it may get: by
    the worst case alone, a mode with a wide bound would starve one that needs its share for
    certain. A budget below all that is expected is shared by what is expected.
    """
    expected = [low for low, _ in arms]
    rest = budget - sum(expected)
    if rest < 0:
        return share_out(budget, expected)
    more = share_out(rest, [max(0, worst - low) for low, worst in arms])
    return [low + extra for low, extra in zip(expected, more, strict=True)]
