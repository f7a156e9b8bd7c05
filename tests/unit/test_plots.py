"""Plots: numbers become places, and the same numbers stay readable as words."""

import itertools

import pytest

from batchboard.plots import (
    Bars,
    Mark,
    Pause,
    Series,
    clock,
    clock_ticks,
    levels,
    plot,
    span_ticks,
)


def drawn(*series, **options):
    given = {"start": 0, "end": 100, "across": span_ticks(100), "at": "{:g} s".format}
    return plot("p", "A sentence.", series, **(given | options))


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        (1, [0, 1]),
        (2, [0, 1, 2]),
        (20, [0, 10, 20]),
        (21, [0, 10, 20, 30]),
        (800, [0, 500, 1000]),
        (1_600_000, [0, 1_000_000, 2_000_000]),
    ],
)
def test_levels_are_round_and_reach_the_top(top, expected):
    assert levels(top) == expected


def test_a_line_fills_its_frame():
    line = drawn(Series("in flight", [(0, 0), (50, 10), (100, 20)])).lines[0]
    assert line.path == "M0.0 144.0L500.0 88.0L1000.0 32.0"


def test_a_stepped_line_holds_its_value_until_the_next():
    line = drawn(Series("cap", [(0, 20), (50, 10)], stepped=True)).lines[0]
    assert line.path == "M0.0 32.0H500.0V88.0"


def test_a_line_breaks_where_nothing_is_known_and_its_area_with_it():
    line = drawn(Series("x", [(0, 10), (10, 10), (20, None), (30, 10)], filled=True)).lines[0]
    assert line.path.count("M") == 2
    assert line.area.count("Z") == 2


def test_unknown_is_not_zero_in_the_numbers():
    made = drawn(Series("x", [(0, 0), (10, None)]), Series("y", [(10, 1_234)]))
    assert made.head == ["x", "y"]
    assert made.rows == [["10 s", "–", "1,234"], ["0 s", "0", "–"]]


def test_the_numbers_stay_few():
    assert len(drawn(Series("x", [(n, n) for n in range(1_000)])).rows) <= 40


def test_nothing_to_draw_is_no_error():
    made = drawn(Series("x", []))
    assert (made.lines[0].path, made.rows) == ("", [])


def test_names_that_would_stand_on_each_other_are_moved_apart():
    made = drawn(Series("x", [(90, 1)]), Series("y", [(90, 1.1)]), Series("z", [(90, 1)]))
    heights = sorted(line.label_y for line in made.lines)
    assert all(after - before >= 13 for before, after in itertools.pairwise(heights))


def test_a_pause_and_a_mark_keep_their_place():
    made = drawn(
        Series("x", [(0, 1)]), pauses=[Pause(10, 30, "429")], marks=[Mark(50, "cut"), Mark(101)]
    )
    assert [(box.x, box.width, box.label) for box in made.pauses] == [(10, 20, "429")]
    assert [(box.x, box.label) for box in made.marks] == [(50, "cut")]


def test_of_labels_that_would_cover_each_other_the_latest_stays():
    made = drawn(marks=[Mark(20, "20 → 16"), Mark(21, "16 → 13"), Mark(50, "13 → 14")])
    assert [box.label for box in made.marks] == ["", "16 → 13", "13 → 14"]


def test_bars_have_a_scale_of_their_own_and_one_is_never_invisible():
    made = drawn(bars=Bars("429s", [(0, 10, 1_000), (10, 20, 1), (20, 30, 0)]))
    assert [box.height for box in made.bars] == [20, 2]
    assert made.height > drawn().height


def test_now_is_drawn_only_before_the_end():
    assert drawn(now=50).now == 50
    assert drawn(now=100).now is None


def test_ticks_are_times_of_day_or_days():
    hour = clock_ticks(1_700_000_000, 1_700_003_600)
    assert [tick.label for tick in hour][:2] == ["22:20", "22:30"]
    assert hour[0].moment.endswith("+00:00")
    week = clock_ticks(1_700_000_000, 1_700_000_000 + 7 * 86_400)
    assert all(tick.label.startswith("Nov ") for tick in week)
    assert clock(1_700_000_000, 10) == "22:13:20"
    year = clock_ticks(1_700_000_000, 1_700_000_000 + 365 * 86_400)
    assert 3 <= len(year) <= 8


@pytest.mark.parametrize(
    ("seconds", "last"), [(60, "60 s"), (600, "10 min"), (3_600 * 5, "5 h"), (7, "6 s")]
)
def test_ticks_are_lengths_of_time(seconds, last):
    ticks = span_ticks(seconds)
    assert ticks[0].at == 0
    assert ticks[-1].label == last


def test_values_that_stand_alone_are_dots_and_are_not_carried_on():
    made = drawn(
        Series("before", [(0, 10), (20, 20)], dotted=True), Series("after", [(60, 5)], dotted=True)
    )
    assert [(dot.x, dot.y) for dot in made.lines[0].dots] == [(0, 88), (20, 32)]
    assert made.lines[0].path == ""
    assert made.rows == [["60 s", "–", "5"], ["20 s", "20", "–"], ["0 s", "10", "–"]]


def test_what_a_person_did_is_marked_apart_from_limits():
    made = drawn(Series("x", [(0, 1)]), marks=[Mark(50, "429"), Mark(90, "changed", "ink")])
    assert [box.tone for box in made.marks] == ["hold", "ink"]


def test_an_axis_may_say_its_levels_shorter_than_the_table():
    made = drawn(
        Series("x", [(0, 1.0)]), value="{:.4f}".format, axis=lambda ats: [f"{at:g}" for at in ats]
    )
    assert [tick.label for tick in made.down] == ["0", "1"]
    assert made.rows == [["0 s", "1.0000"]]
