"""What dead workers and lost messages held goes back into the line, and nothing else."""

import os

import pytest

from batchboard.models import Attempt, Batch, Item, Limits, Spend, Worker
from batchboard.money import units
from dispatch import recorder, rescue
from dispatch.admitted import GRANT_SECONDS
from dispatch.deciding import deciding
from dispatch.outcome import Outcome
from dispatch.process_identity import machine
from dispatch.pump import pump
from tests.factories import admit, finished, live_count, live_worker, queued, states

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker(clock):
    return live_worker(seconds=15)


def sweep():
    with deciding() as made:
        return rescue.sweep(made.limits, made.now)


def test_what_lives_is_left_alone(worker, clock):
    batch = queued(4)
    admit(worker, 2)
    admit(worker, 2, granted=True)
    clock.advance(GRANT_SECONDS - 1)
    assert sweep() == 0
    assert (batch.live_items, Worker.objects.get().fenced) == (4, False)


def test_a_started_call_of_a_dead_worker_is_lost_and_its_item_waits(worker, clock):
    batch = queued(3)
    (call,) = admit(worker, 1).calls
    clock.advance(15)
    assert sweep() == 1
    attempt = Attempt.objects.get()
    assert (attempt.outcome, attempt.ended_at, attempt.cost) == ("lost", clock.now, None)
    assert states(batch) == {"waiting": 3}
    batch.refresh_from_db()
    assert (batch.cost, units(batch.unknown_cost)) == (0, call.reserved)
    assert units(Spend.objects.get().unknown) == call.reserved
    assert Worker.objects.get().fenced
    again = admit(live_worker()).calls
    assert [call.parts[0].key for call in again] == ["k0", "k1", "k2"]


def test_a_grant_that_nobody_took_vanishes_and_counts_for_nothing(worker, clock):
    batch = queued(2)
    admit(worker, granted=True)
    clock.advance(GRANT_SECONDS)
    assert sweep() == 2
    assert not Attempt.objects.exists()
    assert states(batch) == {"waiting": 2}
    batch.refresh_from_db()
    assert (batch.unknown_cost, batch.reserved, batch.ended) == (0, 0, 0)
    assert set(batch.items.values_list("tries", flat=True)) == {0}
    assert len(admit(worker).calls) == 2


def test_a_grant_to_a_dead_worker_vanishes_at_once(worker):
    queued(2)
    admit(worker, granted=True)
    Worker.objects.update(fenced=True)
    assert sweep() == 2
    assert live_count() == 0


def test_a_grant_that_was_taken_stays(worker, clock):
    batch = queued(2)
    calls = admit(worker, granted=True).calls
    taken = calls[0].parts[0].attempt
    Attempt.objects.filter(pk=taken).update(started_at=clock.now)
    clock.advance(GRANT_SECONDS)
    assert sweep() == 1
    assert list(Attempt.objects.live().values_list("pk", flat=True)) == [taken]
    assert states(batch) == {"running": 1, "waiting": 1}


def test_a_sweep_twice_is_a_sweep_once(worker, clock):
    batch = queued(3)
    admit(worker, 1)
    admit(worker, 1, granted=True)
    clock.advance(20)
    assert [sweep(), sweep()] == [2, 0]
    assert states(batch) == {"waiting": 3}


def test_an_item_that_is_lost_again_and_again_dies_in_the_end(clock):
    batch = queued(1)
    losses = 0
    while batch.items.get().state != "dead":
        assert len(admit(live_worker(seconds=15)).calls) == 1
        clock.advance(16)
        assert sweep() == 1
        losses += 1
        assert losses < 40
    assert losses == 21
    batch.refresh_from_db()
    assert (batch.dead, Attempt.objects.count()) == (1, 21)
    pump()
    batch.refresh_from_db()
    assert batch.state == "review"


def test_losses_leave_the_tries_of_other_failures_alone(clock):
    batch = queued(1)
    for _ in range(5):
        admit(live_worker(seconds=15))
        clock.advance(16)
        sweep()
    worker = live_worker()
    for _ in range(2):
        recorder.settle(
            worker.pk, [finished(c, Outcome.SERVER) for c in admit(worker).calls], admits=False
        )
        clock.advance(60)
    assert batch.items.get().state == "waiting"


def test_lost_calls_of_a_cancelled_batch_are_cancelled(worker, clock):
    batch = queued(3)
    admit(worker, 2)
    batch.cancel()
    clock.advance(16)
    sweep()
    sweep()
    batch.refresh_from_db()
    assert (batch.cancelled, states(batch)) == (3, {"cancelled": 3})


def test_on_this_machine_a_dead_process_is_not_waited_for(clock):
    queued(1)
    gone = live_worker()
    Worker.objects.filter(pk=gone.pk).update(host=machine(), pid=2**22 + 1)
    here = live_worker()
    Worker.objects.filter(pk=here.pk).update(host=machine(), pid=os.getpid())
    admit(gone)
    assert sweep() == 1
    assert list(Worker.objects.order_by("pk").values_list("fenced", flat=True)) == [True, False]


def test_a_clock_that_leaps_makes_nobody_late(worker, clock, monkeypatch):
    """The machine slept, or the clock was set: who lives renews the lease in a moment."""
    queued(1)
    admit(worker)
    seconds = [0.0]
    monkeypatch.setattr(rescue, "monotonic", lambda: seconds[0])
    sweep()
    clock.advance(3600)
    seconds[0] += 1
    assert sweep() == 0
    clock.advance(15)
    seconds[0] += 15
    assert sweep() == 1


def test_the_run_goes_on_by_itself_after_every_death(clock):
    """Workers die half way through their calls, over and over: each item ends exactly once."""
    batch = queued(12)
    for _ in range(60):
        worker = live_worker(seconds=15)
        calls = admit(worker, 4).calls
        recorder.settle(worker.pk, [finished(call) for call in calls[::2]], admits=False)
        clock.advance(16)
        pump()
        batch.refresh_from_db()
        if batch.state == "review":
            break
    assert (batch.state, batch.succeeded) == ("review", 12)
    assert Attempt.objects.filter(outcome="ok").values("item").distinct().count() == 12
    assert Attempt.objects.filter(outcome="ok").count() == 12


# The pump, which sweeps first


def test_the_pump_spreads_grants_over_workers_that_consume(clock, settings):
    settings.DISPATCH_CONCURRENCY = 6
    queued(20)
    fresh, other, deaf = live_worker("fresh"), live_worker("other"), live_worker("deaf")
    clock.advance(9)
    Worker.objects.exclude(pk=deaf.pk).update(consumed_at=clock.now)
    pumped = pump()
    assert [live_count(worker=each) for each in (fresh, other, deaf)] == [2, 2, 0]
    assert {grant.node for grant in pumped.grants} == {fresh.node, other.node}
    assert set(pumped.nodes) == {fresh.node, other.node, deaf.node}
    by_grant = Attempt.objects.values_list("grant", flat=True)
    assert sorted(set(by_grant)) == sorted(grant.number for grant in pumped.grants)
    assert Attempt.objects.filter(started_at=None).count() == 4


def test_the_pump_gives_a_dead_workers_items_to_another_in_one_round(worker, clock):
    queued(3)
    admit(worker)
    clock.advance(16)
    other = live_worker()
    pump()
    assert live_count(worker=other) == 3
    assert live_count() == 3


def test_a_batch_that_cannot_be_finished_keeps_no_other_from_being_sent(worker, monkeypatch):
    Batch.objects.filter(pk=queued(1).pk).update(dead=1)
    queued(2)

    def fails(_):
        raise ValueError("odd")

    monkeypatch.setattr(Batch, "finish", fails)
    assert len(pump().grants) == 1
    assert live_count() == 3


def test_the_pump_finishes_what_nobody_finished(worker):
    batch = queued(2)
    Item.objects.update(state="dead")
    Batch.objects.update(dead=2)
    pump()
    batch.refresh_from_db()
    assert batch.state == "review"
    assert Limits.objects.get().pumped_at is not None
