"""The numbers of a plot as a table."""

from collections.abc import Callable, Sequence
from math import ceil

from batchboard.plots.parts import Point, Series

NUMBERS_SHOWN = 40


def numbers(
    series: Sequence[Series], at: Callable[[float], str], value: Callable[[float], str]
) -> list[list[str]]:
    """At so many places, what each series was then; newest first."""
    places = sorted({place for one in series for place, _ in one.points}, reverse=True)
    every = max(1, ceil(len(places) / NUMBERS_SHOWN))
    return [
        [at(place), *(_written(_value_at(one.points, place), value) for one in series)]
        for place in places[::every]
    ]


def _value_at(points: Sequence[Point], place: float) -> float | None:
    found = None
    for there, value in points:
        if there > place:
            break
        found = value
    return found


def _written(number: float | None, value: Callable[[float], str]) -> str:
    return "–" if number is None else value(number)
