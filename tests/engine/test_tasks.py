"""Rounds of the pump ask for the next one, and there never are more of them for it."""

import pytest

from batchboard.checks import check_limits
from dispatch import tasks


@pytest.fixture
def asked(monkeypatch):
    """The countdowns of the rounds that were asked for; `now` moves the clock."""
    found = []
    monkeypatch.setattr(
        tasks.pump, "apply_async", lambda countdown, expires: found.append(countdown)
    )
    monkeypatch.setattr(tasks.Process, "pumps_at", 0.0)
    return found


def at(monkeypatch, seconds):
    monkeypatch.setattr(tasks.time, "monotonic", lambda: 100.0 + seconds)


def test_rounds_that_ask_for_the_same_next_one_fold(asked, monkeypatch):
    for seconds in (0, 0.1, 0.3):
        at(monkeypatch, seconds)
        tasks._pump_again(0.5)
    assert asked == [0.5]
    at(monkeypatch, 0.6)
    tasks._pump_again(0.5)
    assert asked == [0.5, 0.5]


def test_an_earlier_one_is_asked_for(asked, monkeypatch):
    at(monkeypatch, 0)
    tasks._pump_again(1.5)
    tasks._pump_again(0.2)
    assert asked == [1.5, 0.2]


@pytest.mark.parametrize(
    ("name", "value"),
    [("CONCURRENCY", 0), ("RPM", 0), ("ITPM", -5), ("HEADROOM", 0.0), ("BUDGET_USD", "much"),
     ("BUDGET_PERIOD", "week")],
)  # fmt: skip
def test_limits_of_the_environment_that_cannot_be_are_told_before_anything_runs(
    settings, name, value
):
    assert check_limits() == []
    setattr(settings, f"DISPATCH_{name}", value)
    (error,) = check_limits()
    assert f"DISPATCH_{name}" in error.msg
