"""Plots with a row for each thing compared: their places, and what does not fit."""

import pytest

from batchboard.row_plots import BARS_END, Spread, Stack, stacks, whiskers

KINDS = (("read", "Read from cache"), ("input", "Input"))


def drawn(*spreads):
    return whiskers(
        "p",
        "A sentence.",
        spreads,
        value="${:.4f}".format,
        axis=lambda ats: [f"${at:g}" for at in ats],
    )


def spread(low, mid, high, label="x", **fields):
    return Spread(label, low, mid, high, f"${mid}", **fields)


def test_places_are_shares_of_a_scale_from_zero():
    plot = drawn(spread(8, 10, 12), spread(4, 5, 6))
    assert [tick.label for tick in plot.across] == ["$0", "$2", "$4", "$6", "$8", "$10", "$12"]
    first, second = plot.rows_drawn
    assert (first.low, first.mid, first.high) == (66.67, 83.33, 100)
    assert (second.low, second.mid, second.high) == (33.33, 41.67, 50)
    assert plot.reference == first.mid


def test_the_way_from_the_reference_is_shaded_either_way():
    fell, rose, same = drawn(
        spread(8, 10, 12),
        spread(4, 5, 6, shaded=True),
        spread(10, 11, 12, shaded=True),
        spread(9, 10, 11, shaded=True),
    ).rows_drawn[1:]
    assert fell.shade == (41.67, 41.66)
    assert rose.shade == (83.33, pytest.approx(8.34))
    assert same.shade is None


@pytest.mark.parametrize(
    ("mid", "anchor", "side"),
    [(1, "end", "before the reference"), (9, "end", "left of both"), (30, "start", "in between")],
)
def test_a_note_stands_where_there_is_room(mid, anchor, side):
    reference = spread(9.5, 10, 10.5)
    note = drawn(reference, spread(mid * 0.98, mid, mid * 1.02, note="−51 %")).rows_drawn[1].note
    assert note.anchor == anchor, side
    assert 0 <= note.x <= 100


def test_an_interval_that_leaves_the_plot_has_no_cap_there():
    wild, tame = drawn(spread(-40, 10, 400), spread(8, 9, 10)).rows_drawn
    assert (wild.ends_left, wild.ends_right) == (False, False)
    assert (wild.low, wild.high) == (0, 100)
    assert (tame.ends_left, tame.ends_right) == (True, True)


def test_an_end_that_nobody_knows_is_open_and_is_no_number():
    plot = drawn(spread(8, 10, 12), spread(None, 9, None, label="few"))
    few = plot.rows_drawn[1]
    assert (few.low, few.high, few.ends_left, few.ends_right) == (0, 100, False, False)
    assert plot.rows[1] == ["few", "–", "$9.0000", "–"]


def test_nothing_and_zero_are_no_error():
    assert drawn().rows_drawn == []
    assert drawn(spread(0, 0, 0)).reference == 0


def test_the_numbers_stay_readable_as_words():
    plot = drawn(spread(8, 10, 12, label="single"))
    assert plot.head == ["from", "mean", "to"]
    assert plot.rows == [["single", "$8.0000", "$10.0000", "$12.0000"]]


def test_the_longest_bar_leaves_room_for_its_total():
    plot = stacks("p", "s", [Stack("a", [3000, 1000]), Stack("b", [0, 1000])], KINDS)
    long, short = plot.bars
    assert long.end == BARS_END
    assert [(one.kind, one.number) for one in long.segments] == [("read", "3,000"), ("input", "")]
    assert [one.kind for one in short.segments] == ["input"], "nothing is drawn of nothing"
    assert (long.total, short.total) == ("4,000", "1,000")
    assert plot.rows[0] == ["a", "3,000", "1,000", "4,000"]


def test_a_narrow_part_has_no_number():
    plot = stacks("p", "s", [Stack("a", [900, 100]), Stack("b", [80, 20])], KINDS)
    assert [one.number for one in plot.bars[1].segments] == ["", ""]
