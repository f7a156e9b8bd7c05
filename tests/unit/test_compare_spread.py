"""Sums in place of items: they add up, and a comparison of sums is that of the items."""

import random
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from batchboard.compare import ArmData, TaskCost, compare
from batchboard.compare.spread import Spread, Sums

VALUES = st.lists(st.integers(0, 10**12), max_size=20)
TASKS = st.lists(
    st.tuples(st.integers(0, 10**12), st.booleans(), st.just(0)), min_size=2, max_size=20
).filter(lambda tasks: any(ok for _, ok, _ in tasks))


@given(VALUES, VALUES)
def test_sums_of_two_parts_are_the_sums_of_the_whole(one, other):
    assert Sums.of(one) + Sums.of(other) == Sums.of(one + other)


@given(VALUES.filter(len), st.data())
def test_some_values_in_place_of_others_change_the_sums_as_they_should(values, data):
    size = data.draw(st.integers(0, len(values)))
    bounds = data.draw(st.lists(st.integers(0, 10**9), min_size=size, max_size=size))
    new = [value + bound for value, bound in zip(values, bounds, strict=False)]
    assert Sums.of(values).changed(values[:size], new) == Sums.of(new + values[size:])


@given(VALUES.filter(len))
def test_values_stray_from_their_mean_as_much_as_one_by_one(values):
    middle = Fraction(sum(values), len(values))
    assert Sums.of(values).strayed == float(sum((value - middle) ** 2 for value in values))


@given(TASKS)
def test_the_cost_per_success_has_the_variance_of_the_linearised_ratio(tasks):
    share = Fraction(sum(ok for _, ok, _ in tasks), len(tasks))
    mean = sum(cost for cost, _, _ in tasks) / share / len(tasks)
    squares = sum(((cost - mean * ok) / share) ** 2 for cost, ok, _ in tasks)
    found = Spread.of(tasks).per_success()
    assert found == (float(mean), float(squares / (len(tasks) - 1) / len(tasks)))


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
