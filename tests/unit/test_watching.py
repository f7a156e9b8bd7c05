"""What the live view of the command line can say."""

from datetime import timedelta

from django.utils import timezone

from batchboard.cli.watching import WAITS, _time_left
from batchboard.models import Batch
from batchboard.states import Wait


def test_whatever_a_batch_waits_for_has_words():
    assert set(WAITS) == set(Wait)


def test_no_rate_is_told_of_a_batch_whose_results_come_all_at_once():
    started = timezone.now() - timedelta(hours=1)
    batch = Batch(
        state="running", started_at=started, pace_since=started, succeeded=10, total=100,
        mode="provider_batch",
    )  # fmt: skip
    assert _time_left(batch) == "3600 s so far"
    batch.mode = "cached"
    assert _time_left(batch) == "3600 s so far, ~32400 s left"


def test_before_the_first_result_the_time_left_is_the_estimate():
    batch = Batch(state="queued", total=100, mode="cached", estimate_seconds=90.4)
    assert _time_left(batch) == "~90 s left"
    batch.state, batch.started_at = "running", timezone.now() - timedelta(seconds=5)
    assert _time_left(batch) == "5 s so far, ~90 s left"
    batch.estimate_seconds = None
    assert _time_left(batch) == "5 s so far, –"


def test_no_time_left_is_told_of_a_batch_that_stands_still():
    started = timezone.now() - timedelta(hours=1)
    batch = Batch(state="paused", started_at=started, succeeded=10, total=100, mode="cached")
    assert _time_left(batch) == "3600 s so far"
