"""Bars of days: what is stacked, how many days share one, and what is written beside it."""

from datetime import date, timedelta

import pytest

from batchboard.day_bars import MOST_BARS, Layer, day_bars
from batchboard.plots import BODY, HEADROOM

FIRST = date(2026, 11, 1)


def drawn(layers, days=10):
    return day_bars(
        "p", "says", layers, since=FIRST, until=FIRST + timedelta(days=days - 1),
        value=lambda amount: f"${amount:.2f}",
    )  # fmt: skip


def test_layers_stand_on_each_other_and_reach_their_sum():
    day = FIRST + timedelta(days=3)
    plot = drawn([Layer("a", "first", {day: 0.5}), Layer("b", "unknown", {day: 0.5})])
    lower, upper = (piece.box for piece in plot.pieces)
    assert lower.y + lower.height == HEADROOM + BODY
    assert upper.y + upper.height == lower.y
    assert upper.y == HEADROOM, "one dollar is the top of the scale"
    assert 30 < lower.x < 40
    assert [piece.kind for piece in plot.pieces] == ["first", "unknown"]
    assert plot.rows == [["Nov 4", "$0.50", "$0.50"]]


def test_the_scale_is_in_even_steps_up_to_the_highest_bar():
    plot = drawn([Layer("a", "first", {FIRST: 0.62})])
    assert [tick.label for tick in plot.down] == ["$0.00", "$0.50", "$1.00"]


@pytest.mark.parametrize(
    ("days", "shared"), [(1, 1), (100, 1), (101, 7), (700, 7), (701, 28), (10_000, 364)]
)
def test_many_days_share_a_bar_and_nothing_is_lost(days, shared):
    amounts = {FIRST + timedelta(days=n): 1.0 for n in range(days)}
    plot = drawn([Layer("a", "first", amounts)], days)
    assert plot.days == shared
    assert len(plot.pieces) <= MOST_BARS
    assert sum(float(row[1].strip("$")) for row in plot.rows) == days
    assert all(piece.box.x >= 0 and piece.box.x + piece.box.width <= 100 for piece in plot.pieces)


def test_a_little_is_not_nothing():
    plot = drawn([Layer("a", "first", {FIRST: 100.0, FIRST + timedelta(days=1): 0.0001})])
    assert [piece.box.height for piece in plot.pieces] == [BODY, 1.0]


def test_days_without_any_are_drawn_as_no_bar():
    plot = drawn([Layer("a", "first", {})])
    assert plot.pieces == []
    assert plot.rows == []
