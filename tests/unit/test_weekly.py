"""A usual week, and what a change means for a year."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from batchboard.weekly import WEEK, Week, monday, usual_rate, yearly

NOW = datetime(2026, 6, 19, 15, 0, tzinfo=UTC)  # a Friday
THIS = datetime(2026, 6, 15, tzinfo=UTC)


def week(ago, tasks, cost="1"):
    start = THIS - ago * WEEK
    return Week(start, start + timedelta(hours=9), tasks, Decimal(cost))


def test_a_week_begins_on_monday():
    assert monday(NOW) == THIS
    assert monday(THIS) == THIS


def test_the_rate_is_the_mean_of_complete_weeks():
    assert usual_rate([week(3, 30), week(2, 40), week(1, 50), week(0, 500)], NOW) == 40


def test_idle_weeks_count_and_those_long_ago_do_not():
    weeks = [week(30, 1_000), week(8, 40), week(4, 40), week(1, 40)]
    assert usual_rate(weeks, NOW) == 15


@pytest.mark.parametrize(
    "weeks",
    [[], [week(1, 40)], [week(2, 40), week(1, 40), week(0, 40)], [week(n, 40) for n in (9, 10, 11)],
     [week(1, 20), week(1, 20), week(2, 40)]],
)  # fmt: skip
def test_with_work_in_too_few_weeks_there_is_no_usual_one(weeks):
    assert usual_rate(weeks, NOW) is None


def test_a_year_costs_less_by_the_difference_of_each_task():
    less = yearly(Decimal(40), Decimal("0.0217"), Decimal("0.0106"))
    assert round(less) == 23
    assert yearly(Decimal(40), Decimal("0.0106"), Decimal("0.0217")) == -less


def test_a_week_without_a_result_has_no_cost_per_task():
    assert week(1, 0).per_task is None
    assert week(1, 4, "2").per_task == Decimal("0.5")
