"""What a sample proves, said while it is being judged."""

import pytest

from batchboard.proof import proof

NARROW = "\u202f"


def test_before_the_end_it_says_what_a_clean_sample_will_prove():
    found = proof(39, 5, 2, 0)
    # 1 - C(31,5)/C(39,5) = 0.7048…; 1 - C(31,2)/C(39,2) = 0.3724…
    assert (found.lead, found.chance) == (
        "If all 5 pass: were a fifth bad (8 of 39), you would have seen one with", 70,
    )  # fmt: skip
    assert found.so_far.endswith(f"with 37{NARROW}%.")
    assert "at most 16 of 39 are bad" in found.bound
    assert "With 5 more drawn, at most 8." in found.bound


def test_a_bad_one_changes_the_sentence():
    found = proof(39, 5, 3, 1)
    assert found.lead.startswith("1 bad of 3 from 39 results")
    assert found.chance is None
    assert "If the rest of the 5 pass, at most 24 of 39 are bad" in found.bound


@pytest.mark.parametrize(
    ("judged", "bad", "says"), [(2, 0, "3 to judge"), (5, 0, "0 bad"), (5, 2, "2 bad")]
)
def test_a_sample_of_everything_leaves_nothing_to_chance(judged, bad, says):
    found = proof(5, 5, judged, bad)
    assert found.lead.startswith("All 5 results are")
    assert says in found.lead
    assert (found.bars, found.more) == ((), 0)


def test_without_results_there_is_nothing_to_prove():
    assert "nothing to look at" in proof(0, 0, 0, 0).lead


def test_bars_grow_with_what_is_judged_and_stay_in_the_plot():
    bars = proof(39, 5, 2, 0).bars
    assert [bar.bad for bar in bars] == [1, 2, 4, 8, 12, 16]
    assert [bar.at_end for bar in bars] == [12, 24, 43, 70, 85, 94]
    assert [bar.bad for bar in bars if bar.is_fifth] == [8]
    assert all(0 <= bar.so_far <= bar.at_end <= 100 for bar in bars)
    assert all(bar.label_y > 8 and bar.x + bar.width <= 270 for bar in bars)


@pytest.mark.parametrize("population", [4, 6, 7, 12, 1_000_000])
def test_any_population_has_bars(population):
    found = proof(population, 3, 0, 0)
    assert 1 <= len(found.bars) <= 6
    assert all(bar.bad <= population for bar in found.bars)
