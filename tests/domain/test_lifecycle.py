"""Pausing, blocking, cancelling, finishing and sending again: what each does to a batch."""

from datetime import timedelta

import pytest

from batchboard.models import Batch, Event, Item
from batchboard.states import BatchState, Block, MoveRefused
from dispatch import recorder
from dispatch.outcome import Outcome
from tests.factories import (
    START,
    admit,
    draft,
    finished,
    in_review,
    live_worker,
    person,
    queued,
    states,
)

pytestmark = pytest.mark.django_db


def told(batch):
    return list(Event.objects.filter(batch=batch).order_by("id").values_list("verb", flat=True))


def running(items=5, take=2, **options):
    """A batch with `take` calls in flight; returns it, its worker and the calls."""
    batch = queued(items, **options)
    worker = live_worker()
    calls = admit(worker, take).calls
    batch.refresh_from_db()
    return batch, worker, calls


def test_starting_queues_and_the_first_call_begins(clock):
    ada = person()
    batch = draft(3, deadline=60)
    batch.start(ada)
    assert (batch.state, batch.started_by, batch.started_at) == ("queued", ada, None)
    clock.advance(5)
    admit(live_worker(), 1)
    batch.refresh_from_db()
    assert (batch.state, batch.started_at) == ("running", clock.now)
    assert batch.deadline_at == clock.now + timedelta(seconds=60)
    assert told(batch) == ["batch.arrive", "batch.start", "batch.begin"]


def test_a_paused_batch_gets_nothing_and_what_is_in_flight_counts():
    batch, worker, calls = running()
    batch.pause()
    assert admit(worker).calls == []
    recorder.settle(worker.pk, [finished(call) for call in calls], admits=True)
    batch.refresh_from_db()
    assert (batch.state, batch.succeeded) == ("paused", 2)
    batch.resume()
    assert batch.state == "running"
    assert len(admit(worker).calls) == 3


def test_a_batch_paused_before_its_first_call_goes_back_to_the_queue():
    batch = queued()
    batch.pause()
    batch.resume()
    assert batch.state == "queued"


def test_a_paused_batch_whose_last_call_ends_asks_for_review():
    batch, worker, calls = running(items=2)
    batch.pause()
    recorder.settle(worker.pk, [finished(call) for call in calls], admits=True)
    batch.refresh_from_db()
    assert batch.state == "review"


def test_one_resume_ends_a_pause_and_a_block_together():
    batch = queued(2)
    batch.block(Block.FIRST_LOOK)
    batch.pause()
    batch.resume()
    batch.refresh_from_db()
    assert (batch.state, batch.blocked, batch.looked) == ("queued", "", True)


def test_a_block_is_set_once_and_lifted_by_resume():
    ada = person()
    batch = queued()
    assert batch.block(Block.BUDGET, "spent") is True
    assert batch.block(Block.DEADLINE, "late") is False
    batch.refresh_from_db()
    assert (batch.blocked, batch.blocked_detail) == ("budget", "spent")
    assert admit(live_worker()).calls == []
    batch.resume(ada)
    assert (batch.blocked, batch.blocked_detail, batch.state) == ("", "", "queued")
    assert len(admit(live_worker()).calls) == 5
    assert told(batch)[2:] == ["batch.blocked", "batch.unblocked", "batch.begin"]


def test_a_block_that_another_lifted_first_is_refused():
    batch = queued()
    batch.block(Block.BUDGET, "spent")
    mine, theirs = Batch.objects.get(pk=batch.pk), Batch.objects.get(pk=batch.pk)
    mine.resume()
    with pytest.raises(MoveRefused, match="no longer blocked"):
        theirs.resume()


def test_lifting_a_deadline_starts_it_anew(clock):
    batch, worker, _ = running(deadline=60)
    clock.advance(61)
    admit(worker)
    batch.refresh_from_db()
    assert batch.blocked == "deadline"
    batch.resume()
    assert batch.deadline_at == clock.now + timedelta(seconds=60)
    assert len(admit(worker).calls) == 3


@pytest.mark.parametrize(
    "state", [state for state in BatchState if state not in {"queued", "running", "paused"}]
)
def test_only_a_batch_under_way_can_be_blocked(state):
    batch = draft()
    Batch.objects.filter(pk=batch.pk).update(state=state)
    assert batch.block(Block.KEY_REFUSED, "401") is False
    batch.refresh_from_db()
    assert batch.blocked == ""


def test_cancelling_ends_what_waits_and_counts_what_comes_back():
    batch, worker, calls = running(items=5, take=3)
    batch.cancel()
    assert (batch.state, batch.cancelled, batch.live_items) == ("cancelled", 2, 3)
    ends = [Outcome.OK, Outcome.CANCELLED, Outcome.REFUSED]
    recorder.settle(
        worker.pk,
        [finished(call, end) for call, end in zip(calls, ends, strict=True)],
        admits=True,
    )
    batch.refresh_from_db()
    assert (batch.succeeded, batch.cancelled, batch.dead) == (1, 3, 1)
    assert (batch.state, batch.ended) == ("cancelled", 5)
    assert states(batch) == {"succeeded": 1, "cancelled": 3, "dead": 1}


def test_cancelling_a_draft_ends_all_of_it():
    batch = draft(3)
    batch.cancel()
    assert (batch.cancelled, states(batch)) == (3, {"cancelled": 3})


def test_cancelling_in_review_closes_the_review():
    batch = in_review()
    batch.cancel()
    assert batch.reviews.get().state == "closed"
    with pytest.raises(MoveRefused):
        list(batch.released_results())


def test_finishing_waits_for_the_last_item():
    batch, worker, calls = running(items=3, take=3)
    assert batch.finish() is False
    recorder.settle(worker.pk, [finished(call) for call in calls[:2]], admits=False)
    assert batch.finish() is False
    recorder.settle(worker.pk, [finished(calls[2])], admits=False)
    batch.refresh_from_db()
    assert batch.state == "review"
    assert batch.finish() is False
    assert batch.reviews.count() == 1
    assert told(batch).count("batch.finish") == 1


@pytest.mark.parametrize(
    ("keys", "sent"), [(None, {"k3", "k4"}), (["k4"], {"k4"})], ids=["all dead", "one named"]
)
def test_dead_items_are_sent_again_from_review(keys, sent):
    batch = in_review(5, bad=2)
    assert (batch.state, batch.dead, batch.succeeded) == ("review", 2, 3)
    assert batch.retry(keys) == len(sent)
    assert (batch.state, batch.dead, batch.finished_at) == ("running", 2 - len(sent), None)
    assert batch.reviews.get().state == "closed"
    worker = live_worker()
    calls = admit(worker).calls
    assert {call.parts[0].key for call in calls} == sent
    recorder.settle(worker.pk, [finished(call) for call in calls], admits=False)
    batch.refresh_from_db()
    assert (batch.state, batch.succeeded) == ("review", 3 + len(sent))
    assert [review.state for review in batch.reviews.order_by("id")] == ["closed", "open"]


def test_a_retry_that_names_a_result_sends_nothing():
    batch = in_review(5, bad=2)
    with pytest.raises(MoveRefused, match=r"Not a dead item of Pile: k0\. None was sent"):
        batch.retry(["k4", "k0"])
    batch.refresh_from_db()
    assert (batch.state, batch.dead, states(batch)["dead"]) == ("review", 2, 2)


def test_a_retry_without_dead_items_is_refused():
    with pytest.raises(MoveRefused, match="no dead items"):
        in_review(3).retry()


@pytest.mark.parametrize("state", ["draft", "approved", "released", "rejected", "cancelled"])
def test_what_was_decided_is_not_sent_again(state):
    batch = in_review(5, bad=2)
    Batch.objects.filter(pk=batch.pk).update(state=state)
    with pytest.raises(MoveRefused, match=f"is {state}"):
        batch.retry()
    assert states(batch)["dead"] == 2


def test_an_item_that_was_sent_again_starts_with_all_its_tries():
    batch = queued(1)
    worker = live_worker()

    def fail(outcome):
        Item.objects.filter(state="waiting").update(due_at=START - timedelta(days=400))
        calls = admit(worker).calls
        recorder.settle(worker.pk, [finished(calls[0], outcome)], admits=False)
        return batch.items.get().state

    assert [fail(Outcome.CONTRACT) for _ in range(2)] == ["waiting", "dead"]
    batch.refresh_from_db()
    batch.retry()
    assert [fail(Outcome.CONTRACT) for _ in range(2)] == ["waiting", "dead"]


@pytest.mark.parametrize("simulated", [True, False])
def test_a_batch_keeps_which_provider_it_began_at(simulated, settings):
    settings.PROVIDER_SIMULATED = simulated
    batch = queued(1)
    batch.begin()
    settings.PROVIDER_SIMULATED = not simulated
    batch.refresh_from_db()
    assert batch.simulated is simulated
