"""What an experiment leaves to chance, its shares of a budget, and arms as people write them."""

from collections import Counter
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchboard.arm_text import ArmPlan, ArmTextError, labels_of, read_arm
from batchboard.drawing import budget_shares, draw, shuffled

KEYS = [f"k{number}" for number in range(30)]
UNITS = st.integers(0, 10**14)


def test_a_draw_holds_different_keys_and_repeats_with_its_seed():
    first = draw("seed", KEYS, 7)
    assert len(set(first)) == 7
    assert set(first) < set(KEYS)
    assert first == draw("seed", iter(KEYS), 7) == draw("seed", reversed(KEYS), 7)
    assert first != draw("other seed", KEYS, 7)


def test_the_order_is_that_of_the_digests():
    # printf %s seed1 | sha256sum, and so on: df9ecf4c…, 35b0fad1…, b9e1e9b0…
    assert draw("seed", ["1", "2", "3"], 3) == ["2", "3", "1"]


def test_things_are_drawn_by_their_keys():
    things = [{"key": key} for key in KEYS]
    drawn = draw("seed", things, 7, key=lambda thing: thing["key"])
    assert [thing["key"] for thing in drawn] == draw("seed", KEYS, 7)


@given(st.text(max_size=5), st.sets(st.text(max_size=4)), st.integers(0, 9), st.integers(0, 9))
def test_drawing_more_only_adds(seed, keys, size, more):
    small, large = draw(seed, keys, size), draw(seed, keys, size + more)
    assert large[: len(small)] == small
    assert len(large) == min(len(keys), size + more)


def test_every_key_is_drawn_about_as_often():
    drawn = Counter(key for seed in range(2_000) for key in draw(str(seed), KEYS, 6))
    assert len(drawn) == len(KEYS)
    assert all(320 <= number <= 480 for number in drawn.values())  # 400, five deviations of 18


def test_a_shuffle_keeps_all_and_repeats_by_its_seed():
    assert shuffled("a", KEYS) == shuffled("a", KEYS) != shuffled("b", KEYS)
    assert sorted(shuffled("a", KEYS)) == sorted(KEYS)


@pytest.mark.parametrize(
    ("budget", "arms", "shares"),
    [
        (100, [(10, 20), (10, 40)], [30, 70]),  # 20 expected; of the rest, 10 : 30
        (20, [(10, 20), (10, 40)], [10, 10]),
        (10, [(30, 90), (10, 900)], [7, 3]),  # 7.5 : 2.5 by what is expected, whole units
        (8, [(0, 0), (0, 0)], [4, 4]),
        (0, [(1, 2), (1, 2)], [0, 0]),
    ],
)
def test_the_expected_cost_comes_first_and_the_rest_by_what_may_follow(budget, arms, shares):
    found = budget_shares(budget, arms)
    assert sum(found) == budget
    assert all(abs(got - wanted) <= 1 for got, wanted in zip(found, shares, strict=True))


@given(UNITS, st.lists(st.tuples(UNITS, UNITS), min_size=2, max_size=8))
def test_the_shares_are_the_budget_to_the_last_unit(budget, arms):
    found = budget_shares(budget, arms)
    assert sum(found) == budget
    assert min(found) >= 0


@pytest.mark.parametrize(
    ("text", "arm", "label"),
    [
        ("single", ("single", None, None), "single"),
        (" cached:N=10 ", ("cached", None, 10), "cached N=10"),
        ("packed", ("packed", 5, None), "packed k=5"),
        ("packed:k=3", ("packed", 3, None), "packed k=3"),
        ("session:s=4,n=2", ("session", 4, 2), "session S=4 N=2"),
    ],
)
def test_an_arm_is_a_mode_with_its_options(text, arm, label):
    assert astuple(read_arm(text)) == arm
    assert read_arm(text).label == label


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "'' is not a mode: the modes are single, cached"),
        ("chached", "'chached' is not a mode: did you mean cached?"),
        ("cached:k=3", "'k=3' is not an option of cached: it takes N=…."),
        ("packed:S=3", "'S=3' is not an option of packed: it takes N=… and k=…."),
        ("packed:", "'' is not an option of packed"),
        ("packed:k", "'k' is not an option of packed"),
        ("packed:k=0", "k of packed is a whole number from 1 to 1,000, not '0'."),
        ("packed:k=²", "k of packed is a whole number from 1 to 1,000, not '²'."),
        ("packed:k=-1", "k of packed is a whole number from 1 to 1,000, not '-1'."),
        ("session:S=2,S=3", "S is given twice"),
        ("single:N=99999", "N of single is a whole number from 1 to 10,000, not '99999'."),
    ],
)
def test_what_is_no_arm_is_refused_with_what_would_be(text, says):
    with pytest.raises(ArmTextError) as refused:
        read_arm(text)
    assert says in str(refused.value)


def test_arms_alike_are_told_apart():
    assert labels_of([ArmPlan("single"), ArmPlan("single")]) == ["single", "single (2)"]
