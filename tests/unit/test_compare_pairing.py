"""Sums of pairs in place of items: a comparison of the sums is that of the items."""

import json
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batchboard.compare import ArmData, Pairing, TaskCost, compare
from batchboard.compare.pairing import FULL, KNOWN, PairSums
from batchboard.compare.spread import Spread


@st.composite
def tasks(draw, least=0):
    keys = draw(st.lists(st.integers(0, 12), unique=True, min_size=least, max_size=12))
    known = st.integers(0, 10**12)
    unknown = st.one_of(st.just(0), st.integers(0, 10**10))
    found = []
    for key in keys:
        bound = draw(unknown)
        found.append(TaskCost(f"k{key}", draw(known) + bound, draw(st.booleans()), bound))
    return found


def values(both, cost, share):
    """What each item adds to the cost per success, which is the mean of these."""
    each = Fraction(sum(map(cost, both)), len(both)) / share
    return [each + (cost(task) - each * task.ok) / share for task in both]


def full(task):
    return task.cost


def known(task):
    return task.cost - task.unknown


@given(tasks(), tasks())
def test_the_ratio_from_sums_is_that_of_the_items_to_the_last_digit(one, other):
    before = {task.key: task for task in one}
    pairs = [(before[task.key], task) for task in other if task.key in before]
    sums = PairSums.of(one, other)
    assert sums.count == len(pairs)
    assume(sums.count > 1)
    assume(sums.succeeded)
    for after_column, after_cost in ((FULL, full), (KNOWN, known)):
        for before_column, before_cost in ((FULL, full), (KNOWN, known)):
            found = sums.ratio(after_column, before_column)
            n = len(pairs)
            x = values([a for a, _ in pairs], before_cost, Fraction(sum(a.ok for a, _ in pairs), n))
            y = values([b for _, b in pairs], after_cost, Fraction(sum(b.ok for _, b in pairs), n))
            mean_x, mean_y = sum(x) / n, sum(y) / n
            assert (found.before, found.after) == (float(mean_x), float(mean_y))

            def covariance(p, q, n=n):
                of_p, of_q = sum(p) / n, sum(q) / n
                apart = sum((a - of_p) * (b - of_q) for a, b in zip(p, q, strict=True))
                return float(apart / (n - 1) / n)

            assert found.variance_before == covariance(x, x)
            assert found.variance_after == covariance(y, y)
            assert found.covariance == covariance(x, y)
            assert (found.count_before, found.count_after, found.paired) == (n, n, True)


@given(st.lists(tasks(least=1), min_size=2, max_size=4))
def test_a_comparison_of_stored_sums_is_that_of_the_items_word_for_word(arms):
    by_item = [ArmData(f"arm {n}", "single", "", tasks=found) for n, found in enumerate(arms)]
    summed = [
        ArmData(arm.label, "single", "",
                spread=Spread.of((task.cost, task.ok, task.unknown) for task in arm.tasks))
        for arm in by_item
    ]  # fmt: skip
    stored = json.loads(json.dumps(Pairing.of(arms).as_json()))
    found = compare(summed, paired=Pairing.of_json(stored))
    expected = compare(by_item, paired=True)
    assert (found.headline, found.detail, found.advice, found.same_items) == (
        expected.headline, expected.detail, expected.advice, expected.same_items,
    )  # fmt: skip
    for one, other in zip(
        (found.before, *found.arms), (expected.before, *expected.arms), strict=True
    ):
        assert (one.cost_per_task, one.change, one.verdict, one.words, one.sentence) == (
            other.cost_per_task, other.change, other.verdict, other.words, other.sentence,
        )  # fmt: skip


@given(tasks(), tasks())
def test_sums_turned_around_are_those_of_the_arms_the_other_way_around(one, other):
    assert PairSums.of(one, other).turned() == PairSums.of(other, one)
    assert Pairing.of([one, other]).between(1, 0) == PairSums.of(other, one)


def test_a_key_that_is_twice_cannot_be_paired():
    twice = [TaskCost("k1", 1, True), TaskCost("k1", 2, True)]
    with pytest.raises(ValueError, match="k1 is twice in an arm"):
        PairSums.of([TaskCost("k1", 1, True)], twice)
