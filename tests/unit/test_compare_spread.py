"""Sums in place of items: they add up, and a comparison of sums is that of the items."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchboard.compare import ArmData, TaskCost, compare
from batchboard.compare.spread import Spread, Sums

VALUES = st.lists(st.integers(0, 10**9), max_size=20)


def alike(one, other):
    assert (one.count, one.total) == (other.count, other.total)
    assert one.squares == pytest.approx(other.squares, rel=1e-6, abs=1)


@given(VALUES, VALUES)
def test_sums_of_two_parts_are_the_sums_of_the_whole(one, other):
    alike(Sums.of(one) + Sums.of(other), Sums.of(one + other))


@given(VALUES.filter(len), st.data())
def test_some_values_in_place_of_others_change_the_sums_as_they_should(values, data):
    size = data.draw(st.integers(0, len(values)))
    bounds = data.draw(st.lists(st.integers(0, 10**9), min_size=size, max_size=size))
    new = [value + bound for value, bound in zip(values, bounds, strict=False)]
    before, after = Sums.of(values), Sums.of(new + values[size:])
    found = before.changed(values[:size], new)
    assert (found.count, found.total) == (after.count, after.total)
    # What is taken away from the squares is lost in the rounding of what was there before.
    assert found.squares == pytest.approx(after.squares, rel=1e-6, abs=1 + 1e-9 * before.squares)


def test_a_comparison_of_sums_is_that_of_the_items():
    chance = random.Random(3)

    def tasks(factor):
        return [
            TaskCost(f"k{n}", round(chance.lognormvariate(0, 1) * 1e7 * factor) + 50,
                     chance.random() > 0.1, 50 if n < 3 else 0)
            for n in range(80)
        ]  # fmt: skip

    def summed(arm):
        spread = Spread.of((task.cost, task.ok, task.unknown) for task in arm.tasks)
        return ArmData(arm.label, arm.mode, "", spread=spread)

    arms = [ArmData("a", "single", "", tasks(1)), ArmData("b", "cached", "", tasks(0.5))]
    by_item = compare(arms, paired=False)
    by_sum = compare([summed(arm) for arm in arms], paired=False)
    assert by_sum.headline == by_item.headline
    assert by_sum.before.cost_per_task == by_item.before.cost_per_task
    assert by_sum.arms[0].change == by_item.arms[0].change
