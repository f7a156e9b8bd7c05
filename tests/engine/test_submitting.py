"""provider_batch: what goes to the provider in message batches takes money and nothing else."""

from datetime import timedelta
from decimal import Decimal

import pytest

from batchboard import pricing
from batchboard.models import Attempt, Limits, Price, Submission
from batchboard.states import BatchState, SubmissionState
from dispatch import governor, submitting
from dispatch.deciding import deciding
from dispatch.live import count_live
from tests.factories import MODEL, admit, live_worker, queued, states, task_version

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker(clock):
    return live_worker()


def decide(worker=None, *, granted=True):
    """A decision of the pump, or of a worker that settled something."""
    with deciding() as made:
        targets = [governor.Target(worker.pk, 1_000)] if worker else []
        return governor.admit(made, targets, count_live(made.limits), granted=granted)


def submissions(batch):
    return list(Submission.objects.filter(batch=batch).order_by("pk"))


def waits(batch):
    batch.refresh_from_db()
    return batch.waits_for


def test_all_items_go_in_one_submission_without_a_slot_or_a_worker(clock, settings):
    settings.DISPATCH_CONCURRENCY = settings.DISPATCH_RPM = 1
    batch = queued(30, mode="provider_batch")
    assert decide().calls == []
    (one,) = submissions(batch)
    assert (one.state, one.requests, one.unsettled) == (SubmissionState.READY, 30, 30)
    assert set(Attempt.objects.values_list("slot", "worker", "submission")) == {(0, None, one.pk)}
    assert states(batch) == {"running": 30}
    assert Attempt.objects.live().count() == 0
    with deciding() as made:
        live = count_live(made.limits)
    assert (live.slots, live.submitted[batch.pk]) == (0, 30)
    assert (batch.live_items, waits(batch)) == (30, "provider")
    assert batch.state == BatchState.RUNNING


def test_only_the_pump_fills_submissions(worker):
    batch = queued(3, mode="provider_batch")
    assert decide(worker, granted=False).calls == []
    assert submissions(batch) == []


def test_calls_of_others_get_every_slot(worker, settings):
    settings.DISPATCH_CONCURRENCY = 4
    batch = queued(30, mode="provider_batch")
    queued(10)
    decide(worker)
    assert len(decide(worker).calls) == 0
    assert Attempt.objects.live().count() == 4
    assert submissions(batch)[0].unsettled == 30


def test_half_the_worst_price_is_held_and_the_price_row_says_so(worker):
    version = task_version()
    call = queued(1, version=version) and admit(worker).calls[0]
    batch = queued(1, version=version, mode="provider_batch")
    decide()
    (one,) = submissions(batch)
    assert one.reserved == Decimal(call.reserved) / 2 / 10**10
    attempt = Attempt.objects.get(submission=one)
    assert attempt.reserved == one.reserved == batch.reserved
    assert "half" in Price.objects.get(pk=attempt.price_id).source


def test_the_budget_lets_as_many_through_as_it_can_pay(clock):
    first = queued(1, mode="provider_batch")
    decide()
    each = submissions(first)[0].reserved
    batch = queued(10, mode="provider_batch", budget=each * 4)
    decide()
    (one,) = submissions(batch)
    assert (one.state, one.requests) == (SubmissionState.READY, 4)
    batch.refresh_from_db()
    assert (batch.blocked, batch.waits_for) == ("", "money")
    assert decide().calls == []
    assert len(submissions(batch)) == 1


def test_the_ceiling_counts_what_is_with_the_provider(clock):
    first = queued(1, mode="provider_batch")
    decide()
    each = submissions(first)[0].reserved
    Limits.objects.current().change(budget=each * 3)
    batch = queued(10, mode="provider_batch")
    decide()
    assert submissions(batch)[0].requests == 2


def test_a_submission_is_filled_in_steps_and_another_begins_where_it_is_full(clock, monkeypatch):
    monkeypatch.setattr(submitting, "STEP", 4)
    monkeypatch.setattr(submitting, "MOST_REQUESTS", 6)
    batch = queued(9, mode="provider_batch")
    assert decide().retry_in == submitting.STEP_SECONDS
    assert [(s.state, s.requests) for s in submissions(batch)] == [("preparing", 4)]
    assert decide().retry_in == submitting.STEP_SECONDS
    assert [(s.state, s.requests) for s in submissions(batch)] == [("ready", 6)]
    decide()
    assert [(s.state, s.requests) for s in submissions(batch)] == [("ready", 6), ("ready", 3)]


def test_a_submission_holds_no_more_bytes_than_it_may(clock, monkeypatch):
    version = task_version()
    each = 30 + version.shared_bytes
    monkeypatch.setattr(submitting, "MOST_BYTES", 2 * each)
    batch = queued(3, version=version, mode="provider_batch")
    decide()
    decide()
    assert [s.requests for s in submissions(batch)] == [2, 1]


def test_waves_send_n_and_the_first_look_stops_after_n(clock):
    waves = queued(10, mode="provider_batch", schedule="waves", concurrency=4)
    look = queued(10, mode="provider_batch", first_look=True, concurrency=3)
    decide()
    decide()
    assert [s.requests for s in submissions(waves)] == [4]
    assert [s.requests for s in submissions(look)] == [3]


def test_a_paused_batch_begins_none(clock):
    batch = queued(3, mode="provider_batch")
    batch.pause()
    decide()
    assert submissions(batch) == []


def test_nothing_begins_while_results_of_an_earlier_one_come_in(clock):
    batch = queued(4, mode="provider_batch", concurrency=2)
    decide()
    Submission.objects.update(state=SubmissionState.COLLECTING, unsettled=0)
    decide()
    assert len(submissions(batch)) == 1
    Submission.objects.update(state=SubmissionState.ENDED, ended_at=clock.now)
    decide()
    assert [s.requests for s in submissions(batch)] == [2, 2]


def test_a_long_shared_context_is_marked_to_be_cached_for_an_hour(clock):
    version = task_version(system="s" * 4_000, shared_tokens=1_000)
    queued(3, version=version, mode="provider_batch")
    queued(3, mode="provider_batch")
    decide()
    assert list(Attempt.objects.values_list("cache", flat=True)) == ["1h"] * 3 + [""] * 3


def test_halved_rates_are_half_of_every_kind_and_of_long_prompts_too():
    from tests.factories import START

    whole = pricing.rates(MODEL, START)
    half = whole.halved()
    for kind in ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read"):
        assert getattr(half, kind) * 2 == getattr(whole, kind)
        assert getattr(half.then, kind) * 2 == getattr(whole.then, kind)
    assert half.above == whole.above


def test_waves_without_a_number_send_everything_together(clock, settings):
    settings.DISPATCH_CONCURRENCY = 2
    batch = queued(30, mode="provider_batch", schedule="waves")
    decide()
    assert [one.requests for one in submissions(batch)] == [30]


def test_waves_of_a_number_send_so_many_together(clock):
    batch = queued(30, mode="provider_batch", schedule="waves", concurrency=10)
    decide()
    assert [one.requests for one in submissions(batch)] == [10]


def test_what_is_due_again_in_a_moment_goes_with_the_rest(clock):
    """Else each would be a message batch of its own, and may take a day."""
    batch = queued(3, mode="provider_batch")
    for key, seconds in (("k1", 5), ("k2", 3_600)):
        batch.items.filter(key=key).update(due_at=clock.now + timedelta(seconds=seconds))
    admission = decide()
    (one,) = submissions(batch)
    assert (one.state, one.requests) == (SubmissionState.PREPARING, 1)
    assert admission.retry_in == pytest.approx(5, abs=0.1)
    clock.advance(6)
    decide()
    (one,) = submissions(batch)
    assert (one.state, one.requests) == (SubmissionState.READY, 2)
