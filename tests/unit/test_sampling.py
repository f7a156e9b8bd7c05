from itertools import combinations

import pytest

from batchboard.sampling import chance_of_seeing, default_size, sentence, upper_bound


@pytest.mark.parametrize(
    ("population", "size"),
    [
        (0, 0),
        (1, 1),
        (3, 3),
        (4, 4),
        (5, 5),
        (39, 5),
        (100, 5),
        (101, 7),
        (1000, 7),
        (2000, 9),
        (10_000, 9),
        (10_001, 11),
        (1_000_000, 11),
    ],
)
def test_the_default_size_grows_slowly(population, size):
    assert default_size(population) == size


@pytest.mark.parametrize("population", [6, 10, 39, 60, 100, 101, 500, 1000, 1001, 9000, 50_000])
def test_with_one_in_five_bad_the_default_sample_would_probably_show_it(population):
    chance = chance_of_seeing(population, -(-population // 5), default_size(population))
    assert chance > 2 / 3


@pytest.mark.parametrize(
    ("population", "bad", "sample", "chance"),
    [
        # A poker hand with at least one ace: 886,656 of 2,598,960 hands hold one.
        (52, 4, 5, 886_656 / 2_598_960),
        # A lottery ticket, 6 of 49: 6,096,454 of 13,983,816 have no number right.
        (49, 6, 6, 7_887_362 / 13_983_816),
        (39, 8, 5, 405_846 / 575_757),
        (10, 1, 3, 0.3),
        (10, 0, 3, 0.0),
        (10, 10, 1, 1.0),
        (10, 3, 0, 0.0),
        (10, 3, 8, 1.0),
        (0, 0, 0, 0.0),
    ],
)
def test_the_chance_of_seeing_a_bad_one(population, bad, sample, chance):
    assert chance_of_seeing(population, bad, sample) == pytest.approx(chance, rel=1e-12, abs=0)


@pytest.mark.parametrize("population", range(1, 8))
def test_the_chance_agrees_with_counting_every_sample(population):
    for sample in range(population + 1):
        for bad in range(population + 1):
            hands = list(combinations(range(population), sample))
            seen = sum(any(member < bad for member in hand) for hand in hands)
            assert chance_of_seeing(population, bad, sample) == pytest.approx(seen / len(hands))


@pytest.mark.parametrize("population", range(1, 9))
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
def test_the_bound_agrees_with_counting_every_sample(population, confidence):
    for sample in range(population + 1):
        hands = list(combinations(range(population), sample))
        for seen in range(sample + 1):
            possible = [
                bad
                for bad in range(seen, population - (sample - seen) + 1)
                if sum(sum(member < bad for member in hand) <= seen for hand in hands)
                > round((1 - confidence) * 100) * len(hands) / 100
            ]
            assert upper_bound(population, sample, seen, confidence) == max(possible)


@pytest.mark.parametrize(
    ("population", "sample", "seen", "confidence", "bound"),
    [
        # Products of (N-b-i)/(N-i) in floating point: 0.0574 for 12 bad ones, 0.0443 for 13.
        (100, 20, 0, 0.95, 12),
        # 0.0584 for 16, 0.0457 for 17.
        (39, 5, 0, 0.95, 16),
        # 0.0621 for 24, 0.0469 for 25.
        (39, 5, 1, 0.95, 24),
        (10, 10, 4, 0.95, 4),
        (10, 0, 0, 0.95, 10),
        (10, 9, 0, 0.95, 1),
        (10, 9, 0, 0.9, 0),
    ],
)
def test_the_most_bad_ones_that_a_sample_leaves_possible(
    population, sample, seen, confidence, bound
):
    assert upper_bound(population, sample, seen, confidence) == bound


def test_a_bound_from_a_huge_population_is_quick_and_near_the_binomial_one():
    # Clopper-Pearson's one-sided bounds at 95 %: 0 of 60 is 4.87 %, 1 of 60 is 7.66 %.
    assert upper_bound(1_000_000, 60, 0) / 1_000_000 == pytest.approx(0.0487, abs=0.0001)
    assert upper_bound(1_000_000, 60, 1) / 1_000_000 == pytest.approx(0.0766, abs=0.0001)


@pytest.mark.parametrize(
    ("population", "sample", "seen", "words"),
    [
        (
            39,
            5,
            0,
            "0 bad of 5 from 39 results: were 8 of them bad, you would have seen one with "
            "70\u202f%",
        ),
        (
            4,
            3,
            0,
            "0 bad of 3 from 4 results: were 1 of them bad, you would have seen it with 75\u202f%",
        ),
        (
            2000,
            9,
            0,
            "0 bad of 9 from 2,000 results: were 400 of them bad, you would have seen one with "
            "86\u202f%",
        ),
        (
            39,
            5,
            1,
            "1 bad of 5 from 39 results: with 95\u202f% confidence at most 24 are bad",
        ),
        (3, 3, 1, "1 bad of 3 results: every one was looked at"),
        (1, 1, 0, "0 bad of 1 result: it was looked at"),
        (39, 0, 0, "0 bad of 0 from 39 results: nothing was looked at, so nothing is known"),
        (0, 0, 0, "0 bad of 0 results: there was nothing to look at"),
    ],
)
def test_a_sentence_says_what_the_look_proves(population, sample, seen, words):
    assert sentence(population, sample, seen) == words


def test_a_percentage_never_claims_more_than_it_proves():
    assert "99\u202f%" in sentence(1000, 60, 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: chance_of_seeing(5, 6, 1),
        lambda: chance_of_seeing(5, 1, 6),
        lambda: chance_of_seeing(5, -1, 1),
        lambda: upper_bound(5, 3, 4),
        lambda: upper_bound(5, 3, 1, confidence=1.0),
        lambda: default_size(-1),
        lambda: sentence(5, 6, 0),
        lambda: sentence(5, 3, 4),
    ],
)
def test_impossible_numbers_are_refused(call):
    with pytest.raises(ValueError, match="must"):
        call()
