"""Comparisons of made-up arms of which the truth is known: how often is the verdict wrong?"""

import random

import pytest

from batchboard.compare import ArmData, TaskCost, Verdict, compare

REPETITIONS = 200
FOUND = {Verdict.BETTER, Verdict.CHEAPER, Verdict.WORSE, Verdict.NOT_BETTER}
TYPICAL = 20_000_000


def sizes(chance, items):
    """What the same items cost by nature: a few are many times as large as the others."""
    return [chance.lognormvariate(0, 0.8) for _ in range(items)]


def arm(chance, sizes, *, factor=1.0, retried=0.0, dead=0.0):
    """Each attempt varies; some are made again, and now and then that costs four times as much."""
    tasks = []
    for number, size in enumerate(sizes):
        cost = size * chance.lognormvariate(0, 0.15)
        while chance.random() < retried:
            cost += size * chance.choice([1, 1, 4])
        ok = chance.random() >= dead
        tasks.append(TaskCost(f"k{number}", round(cost * factor * TYPICAL), ok))
    return ArmData(label="arm", mode="cached", detail="", tasks=tasks)


def share_found(seed, *, paired, items=60, factor=1.0, **nature):
    """In what share of repetitions a difference is called."""
    chance = random.Random(seed)
    found = 0
    for _ in range(REPETITIONS):
        before = sizes(chance, items)
        after = before if paired else sizes(chance, items)
        arms = [
            arm(chance, before, **nature),
            arm(chance, after, factor=factor, **nature),
        ]
        found += compare(arms, paired=paired).arms[0].verdict in FOUND
    return found / REPETITIONS


@pytest.mark.parametrize("paired", [True, False])
def test_of_two_equal_arms_a_difference_is_called_in_at_most_one_of_twenty(paired):
    # Seeds 1 to 10, as they come. What is promised is at most 5 % on average. A single run of 200
    # strays by 1.5 % (one standard deviation), so that three of these above it are allowed.
    shares = [share_found(seed, paired=paired, retried=0.08, dead=0.02) for seed in range(1, 11)]
    assert shares[0] <= 0.05 + 3 * 0.0154
    assert sum(shares) / len(shares) <= 0.05
    assert max(shares) <= 0.05 + 3 * 0.0154


def test_of_four_equal_arms_a_difference_is_called_no_more_often():
    chance = random.Random(1)
    found = 0
    for _ in range(REPETITIONS):
        items = sizes(chance, 60)
        arms = [arm(chance, items, retried=0.08) for _ in range(4)]
        found += any(one.verdict in FOUND for one in compare(arms, paired=True).arms)
    assert found / REPETITIONS <= 0.05


def test_a_fall_of_a_fifth_over_sixty_paired_items_is_found():
    assert share_found(1, paired=True, factor=0.8) >= 0.95


def test_what_is_found_has_the_right_sign_and_its_interval_mostly_holds_the_truth():
    chance = random.Random(1)
    right = held = 0
    for _ in range(REPETITIONS):
        items = sizes(chance, 60)
        arms = [arm(chance, items), arm(chance, items, factor=0.8)]
        one = compare(arms, paired=True).arms[0]
        right += one.verdict is Verdict.CHEAPER
        held += one.change.low <= -0.2 <= one.change.high
    assert right >= 0.95 * REPETITIONS
    # 95 % are promised; heavy tails cost a little, and the count strays by 1.5 %.
    assert held >= 0.9 * REPETITIONS
