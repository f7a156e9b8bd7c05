"""The numbers of a plot as a table."""

from collections.abc import Callable, Sequence
from math import ceil

from batchboard.plots.parts import Series

NUMBERS_SHOWN = 40


def numbers(
    series: Sequence[Series], at: Callable[[float], str], value: Callable[[float], str]
) -> list[list[str]]:
    """At so many places, what each series was then; newest first."""
    places = sorted({place for one in series for place, _ in one.points}, reverse=True)
    every = max(1, ceil(len(places) / NUMBERS_SHOWN))
    return [
        [at(place), *(_written(_value_at(one, place), value) for one in series)]
        for place in places[::every]
    ]


def _value_at(one: Series, place: float) -> float | None:
    found = None
    for there, value in one.points:
        if there > place:
            break
        if one.dotted and there < place:
            continue
        found = value
    return found


def _written(number: float | None, value: Callable[[float], str]) -> str:
    return "–" if number is None else value(number)
