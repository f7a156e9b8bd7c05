"""How long a batch takes yet: by the pace since it last began or went on."""

import pytest

from batchboard import rows
from batchboard.models import Batch
from batchboard.states import Block
from dispatch import recorder
from dispatch.outcome import Outcome
from tests.factories import admit, finished, live_worker, queued

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker():
    return live_worker(seconds=10**6)


@pytest.fixture
def batch(clock, settings):
    """Eight items, four at once, a minute each by the estimate."""
    settings.DISPATCH_CONCURRENCY = 4
    batch = queued(8)
    Batch.objects.update(estimate_seconds=120)
    return batch


def work(worker, clock, seconds, items, outcome=Outcome.OK):
    """So many items end after so many seconds."""
    calls = admit(worker).calls
    clock.advance(seconds)
    recorder.settle(worker.pk, [finished(c, outcome) for c in calls[:items]], admits=False)


def left(batch):
    batch.refresh_from_db()
    return batch.seconds_left(rows.now())


def test_before_the_first_result_the_estimate_says_it(batch, worker, clock):
    assert left(batch) == 120
    work(worker, clock, 30, 0)
    assert left(batch) == 120


def test_then_the_pace_does(batch, worker, clock):
    work(worker, clock, 30, 2)
    assert left(batch) == 30 / 2 * 6


@pytest.mark.parametrize("stop", ["pause", "block"])
def test_a_night_that_it_stood_still_says_nothing_of_the_pace(batch, worker, clock, stop):
    work(worker, clock, 30, 4)
    if stop == "pause":
        batch.pause()
    else:
        batch.block(Block.BUDGET)
    clock.advance(8 * 3_600)
    batch.refresh_from_db()
    batch.resume()
    assert left(batch) == 60, "half of the estimate for half of the items"
    work(worker, clock, 20, 2)
    assert left(batch) == 20 / 2 * 2


def test_nor_does_the_time_in_review_before_dead_items_are_sent_again(batch, worker, clock):
    work(worker, clock, 30, 4)
    work(worker, clock, 30, 4, Outcome.REFUSED)
    batch.refresh_from_db()
    batch.finish()
    clock.advance(3 * 86_400)
    batch.retry()
    assert left(batch) == 60
    work(worker, clock, 10, 2)
    assert left(batch) == 10 / 2 * 2
