"""When something recurs: next moments across clock changes, and the words for them."""

from datetime import UTC, datetime

import pytest

from batchboard.cron import CronError, Times

NOW = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def upcoming(cron, zone, after, count):
    return [f"{moment:%m-%d %H:%M}" for moment in Times(cron, zone).upcoming(at(after), count)]


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("0 9 * * 1", "Mondays at 09:00 Europe/Berlin"),
        ("0 9 * * mon", "Mondays at 09:00 Europe/Berlin"),
        ("30 7 * * 1-5", "Mondays to Fridays at 07:30 Europe/Berlin"),
        ("0 0 * * sat,sun", "Saturdays and Sundays at 00:00 Europe/Berlin"),
        ("15 6 * * *", "Every day at 06:15 Europe/Berlin"),
        ("0,30 9,17 * * *", "Every day at 09:00, 09:30, 17:00 and 17:30 Europe/Berlin"),
        ("30 6 1 * *", "On the 1st of the month at 06:30 Europe/Berlin"),
        ("0 9 2,11,23 1,7 *", "On the 2nd, 11th and 23rd of January and July at 09:00"
         " Europe/Berlin"),
        ("0 9 1 * 1", "Mondays that are the 1st of the month at 09:00 Europe/Berlin"),
        ("0 9 * 3 *", "Every day in March at 09:00 Europe/Berlin"),
        ("* * * * *", "Every minute Europe/Berlin"),
        ("*/15 * * * *", "Every 15 minutes Europe/Berlin"),
        ("5 * * * *", "At 5 minutes past the hour Europe/Berlin"),
        ("0 */2 * * *", "On the hour, every 2 hours Europe/Berlin"),
        ("0 8-18 * * 1-5", "On the hour, from 08 to 18 o’clock, Mondays to Fridays Europe/Berlin"),
    ],
)  # fmt: skip
def test_words(cron, words):
    assert Times(cron, "Europe/Berlin").words() == words


def test_the_next_moment_on_the_clock_of_its_zone():
    times = Times("0 9 * * 1", "Europe/Berlin")
    (following,) = times.upcoming(NOW, 1)
    assert following == at("2026-11-23 08:00")
    assert times.here(following) == "Mon, Nov 23, 09:00"


def test_the_moment_itself_is_not_its_own_next():
    times = Times("0 9 * * *", "UTC")
    assert times.after(at("2026-11-21 09:00")) == at("2026-11-22 09:00")
    assert times.after(at("2026-11-21 08:59:59")) == at("2026-11-21 09:00")


@pytest.mark.parametrize(
    ("cron", "zone", "after", "moments"),
    [
        # Berlin, March 29: 02:00 becomes 03:00, which is 01:00 UTC.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28 00:00",
         ["03-28 01:30", "03-29 01:00", "03-30 00:30"]),
        ("0,15,30,45 2,3 * * *", "Europe/Berlin", "2026-03-29 00:30",
         ["03-29 01:00", "03-29 01:15", "03-29 01:30"]),
        ("30 * * * *", "Europe/Berlin", "2026-03-28 23:45",
         ["03-29 00:30", "03-29 01:00", "03-29 01:30"]),
        # Berlin, October 25: 03:00 becomes 02:00, so 02:30 comes at 00:30 and at 01:30 UTC.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24 00:00",
         ["10-24 00:30", "10-25 00:30", "10-26 01:30"]),
        ("30 * * * *", "Europe/Berlin", "2026-10-24 23:45",
         ["10-25 00:30", "10-25 02:30", "10-25 03:30"]),
        # A beat that looks within the second 02:30 does not take it again.
        ("30 2 * * *", "Europe/Berlin", "2026-10-25 01:10", ["10-26 01:30"]),
        # New York, March 8 and November 1; Lord Howe Island moves by half an hour.
        ("30 2 * * *", "America/New_York", "2026-03-07 12:00", ["03-08 07:00", "03-09 06:30"]),
        ("30 1 * * *", "America/New_York", "2026-10-31 12:00", ["11-01 05:30", "11-02 06:30"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", ["10-03 15:30", "10-04 15:15"]),
        # A clock that is put forward at midnight.
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03 12:00", ["11-04 03:00", "11-05 02:00"]),
    ],
)  # fmt: skip
def test_clock_changes_make_a_time_run_once(cron, zone, after, moments):
    assert upcoming(cron, zone, after, len(moments)) == moments


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize("cron", ["*/10 * * * *", "30 2 * * *", "0 1-3 * * 0"])
def test_moments_only_ever_go_forward(cron, zone):
    moments = list(Times(cron, zone).upcoming(at("2026-03-01"), 300))
    assert moments == sorted(set(moments))


@pytest.mark.parametrize(
    ("cron", "says"),
    [
        ("", "Five fields"),
        ("0 9 * *", "Five fields"),
        ("0 9 * * * *", "Five fields"),
        ("61 9 * * *", "61"),
        ("0 24 * * *", "24"),
        ("0 9 * * 7", "7"),
        ("0 9 * mon *", "“mon” is not a valid month"),
        ("*/0 * * * *", "“*/0” is not a valid minute"),
        ("1-5-7 * * * *", "is not a valid minute"),
        ("0 9 31 2 *", "never occurs"),
        ("٣ * * * *", "is not a valid minute"),
        ("0 9 * * 1" + " " * 200, "Five fields"),
    ],
)
def test_an_expression_that_names_no_time_is_refused_with_a_reason(cron, says):
    with pytest.raises(CronError) as refused:
        Times(cron, "UTC")
    assert says in str(refused.value)
    assert refused.value.field == "cron"


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../../etc/passwd", "Europe"])
def test_an_unknown_zone_is_refused(zone):
    with pytest.raises(CronError) as refused:
        Times("0 9 * * 1", zone)
    assert refused.value.field == "zone"
