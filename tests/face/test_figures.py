"""Figures as people read them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
import time_machine

from batchboard.models import User
from batchboard.money import decimals_of
from batchboard.templatetags.figures import (
    count,
    elapsed,
    forecast,
    share,
    spaces_to,
    span,
    usd,
    usd_per_task,
)
from batchboard.templatetags.marks import initials, model_name

NOW = datetime(2026, 6, 19, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "–"), ("0", "$0.00"), ("0.42", "$0.42"), ("1234.5", "$1,234.50"),
        ("0.0042", "$0.0042"), ("0.000123", "$0.000123"), ("0.01", "$0.01"),
    ],
)  # fmt: skip
def test_dollars(amount: str | None, text: str) -> None:
    assert usd(None if amount is None else Decimal(amount)) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "–"), ("0", "$0"), ("0.0106", "$0.0106"), ("0.00973", "$0.00973"),
        ("0.000012345", "$0.0000123"), ("2.5", "$2.5000"), ("0.0000000001", "under $0.000001"),
    ],
)  # fmt: skip
def test_dollars_of_one_task(amount: str | None, text: str) -> None:
    assert usd_per_task(None if amount is None else Decimal(amount)) == text


@pytest.mark.parametrize(
    ("amounts", "texts"),
    [
        (["0.00224", "0.000927"], ["$0.00224", "$0.00093"]),
        (["0.0217", "0.0106", "0"], ["$0.0217", "$0.0106", "$0"]),
        (["0.02", "0.000051", None], ["$0.020000", "$0.000051", "–"]),
        ([None], ["–"]),
    ],
)  # fmt: skip
def test_dollars_of_tasks_under_each_other_have_the_same_decimals(
    amounts: list[str | None], texts: list[str]
) -> None:
    given = [None if amount is None else Decimal(amount) for amount in amounts]
    assert [usd_per_task(amount, decimals_of(given)) for amount in given] == texts


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"), (0, "0.0 s"), (9.84, "9.8 s"), (59.97, "1 min"), (60, "1 min"),
        (72, "1 min 12 s"), (3_600, "1 h"), (7_500, "2 h 5 min"), (273_600, "3 d 4 h"),
    ],
)  # fmt: skip
def test_lengths_of_time(seconds: float | None, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "–"), (0.2, "~1 s"), (20.4, "~20 s"), (250, "~4 min")]
)
def test_forecasts(seconds: float | None, text: str) -> None:
    assert forecast(seconds) == text


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (timedelta(seconds=40), "40 s ago"), (timedelta(minutes=12), "12 min ago"),
        (timedelta(hours=2), "10:00"), (timedelta(days=7), "Jun 12"),
        (timedelta(seconds=-5), "0 s ago"),
    ],
)  # fmt: skip
def test_how_long_ago(before: timedelta, text: str) -> None:
    with time_machine.travel(NOW, tick=False):
        assert elapsed(NOW - before) == text


@pytest.mark.parametrize("number", [0, 9, 10, 999, 1_000, 99_999, 100_000])
def test_a_count_takes_the_room_of_the_most_that_it_becomes(number: int) -> None:
    shown = count(number) + spaces_to(number, 100_000)
    digits, commas = set("0123456789\u2007"), set(",\u2008")
    assert [sum(mark in kind for mark in shown) for kind in (digits, commas)] == [6, 1]


def test_more_than_was_expected_takes_its_own_room() -> None:
    assert spaces_to(12, 10) == ""
    assert spaces_to(120, 10) == ""


def test_a_share_does_not_break_before_its_sign() -> None:
    assert share(0.812) == "81\u202f%"
    assert share(None) == "–"


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("claude-sonnet-4-5-20250929", "sonnet-4.5"), ("claude-haiku-4-5", "haiku-4.5"),
        ("claude-opus-4-20250514", "opus-4"), ("other", "other"),
    ],
)  # fmt: skip
def test_models_by_their_short_names(model: str, text: str) -> None:
    assert model_name(model) == text


@pytest.mark.parametrize(
    ("first", "last", "user_name", "text"),
    [
        ("Mara", "Voss", "m", "MV"),
        ("", "", "admin", "AD"),
        ("", "", "jo.berg", "JB"),
        ("Ann", "", "x", "AN"),
    ],
)
def test_initials(first: str, last: str, user_name: str, text: str) -> None:
    assert initials(User(first_name=first, last_name=last, username=user_name)) == text
