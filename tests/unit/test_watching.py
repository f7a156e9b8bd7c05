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
    batch = Batch(started_at=started, succeeded=10, total=100, mode="provider_batch")
    assert _time_left(batch) == "3600 s so far"
    batch.mode = "cached"
    assert _time_left(batch) == "3600 s so far, ~32400 s left"
