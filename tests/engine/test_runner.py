"""A worker process and a database that fails it: no slot stays taken by a call that nobody makes,
and no fault of one call harms another."""

import time

import pytest
from django.db import OperationalError

from batchboard.models import Attempt, ItemInput, Limits, Worker
from batchboard.pricing import Usage
from batchboard.states import Block
from dispatch import recorder
from dispatch import runner as runner_module
from dispatch.lease import LEASE_SECONDS, Lease
from dispatch.outcome import Outcome
from dispatch.pump import pump
from dispatch.runner import Runner
from tests.factories import finished, live_count, live_worker, queued, reply, states

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker(clock, announced):
    return live_worker()


@pytest.fixture
def runner(worker, monkeypatch):
    """A runner whose threads do not run: what it would send is in `runner.begun`."""
    runner = Runner(worker.node)
    runner.keeper.lease = Lease(worker.pk, time.monotonic() + LEASE_SECONDS)
    runner.begun = []
    monkeypatch.setattr(
        runner._sending, "begin", lambda ready: runner.begun.extend(call for call, *_ in ready)
    )
    # The test's own connection must live.
    monkeypatch.setattr("dispatch.runner.drop_connection", lambda: None)
    yield runner
    runner._sending._loop.close()


def fails_once(monkeypatch, module, name, error, *, after):
    """`name` raises once: instead of its work, or after it was done and committed."""
    right = getattr(module, name)

    def fails(*args, **kwargs):
        monkeypatch.setattr(module, name, right)
        if after:
            right(*args, **kwargs)
        raise error

    monkeypatch.setattr(module, name, fails)


def keys(calls):
    return [part.key for call in calls for part in call.parts]


def test_what_was_let_through_in_a_decision_whose_end_was_not_heard_begins(runner, monkeypatch):
    queued(3)
    fails_once(monkeypatch, recorder, "record", OperationalError("gone"), after=True)
    assert runner._write_down([])[1] is not None
    assert (live_count(), runner.begun) == (3, [])
    runner._write_down([])
    assert keys(runner.begun) == ["k0", "k1", "k2"]
    runner._doubt = True
    runner._write_down([])
    assert (live_count(), len(runner.begun)) == (3, 3)


def test_calls_begin_though_what_they_need_could_not_be_read_at_once(runner, monkeypatch):
    queued(3)
    fails_once(
        monkeypatch, runner_module, "turns_of",
        OperationalError("gone"), after=False,
    )  # fmt: skip
    runner._write_down([])
    assert (live_count(), runner.begun) == (3, [])
    runner._write_down([])
    assert len(runner.begun) == live_count() == 3


def test_calls_begin_before_anybody_is_told(runner, monkeypatch):
    queued(1)
    seen = []
    monkeypatch.setattr(recorder, "tell", lambda _: seen.extend(runner.begun))
    runner._write_down([])
    assert keys(seen) == ["k0"]


def test_a_grant_that_could_not_be_begun_begins_later_and_harms_no_other_call(runner, monkeypatch):
    queued(2)
    (grant,) = pump().grants
    lease = runner.keeper.lease
    fails_once(monkeypatch, runner, "_begin", OperationalError("gone"), after=False)
    with pytest.raises(OperationalError):
        runner.take(grant.number)
    runner._write_down([])
    assert keys(runner.begun) == ["k0", "k1"]
    assert runner.keeper.lease is lease


def test_a_call_that_cannot_be_made_ready_ends_alone_and_costs_nothing(runner):
    batch = queued(3)
    ItemInput.objects.filter(item__key="k1").delete()
    runner._write_down([])
    assert keys(runner.begun) == ["k0", "k2"]
    runner._write_down(runner._collect(0))
    assert states(batch) == {"running": 2, "dead": 1}
    ended = Attempt.objects.ended().get()
    assert (ended.item.key, ended.outcome, ended.cost) == ("k1", "unknown", 0)


def test_an_answer_that_cannot_be_recorded_harms_no_other(runner):
    batch = queued(3)
    runner._write_down([])
    first, second, _ = runner.begun
    spoilt = finished(first, reply=reply(usage=Usage(input=10**30, output=1)))
    left, _ = runner._write_down([spoilt, finished(second)])
    assert left == []
    assert states(batch) == {"running": 1, "dead": 1, "succeeded": 1}
    dead = Attempt.objects.get(outcome=Outcome.UNKNOWN)
    assert (dead.item.key, dead.cost) == ("k0", None)
    assert runner.keeper.lease is not None


def test_while_the_database_is_away_answers_wait(runner, monkeypatch):
    batch = queued(2)
    runner._write_down([])
    ended = [finished(call) for call in runner.begun]
    fails_once(monkeypatch, recorder, "record", OperationalError("gone"), after=False)
    left, wait = runner._write_down(ended)
    assert (left, wait is not None) == (ended, True)
    assert runner._write_down(left)[0] == []
    batch.refresh_from_db()
    assert (batch.succeeded, batch.state) == (2, "review")


@pytest.mark.parametrize("seconds", [None, 0.0, 1e300])
def test_no_wait_is_too_long_or_too_short_to_be_waited(runner, monkeypatch, seconds):
    monkeypatch.setattr("dispatch.runner.LONGEST_WAIT_SECONDS", 0.05)
    assert runner._collect(seconds) == []


@pytest.mark.parametrize(
    "stop",
    [
        lambda batch: batch.cancel(),
        lambda batch: batch.pause(),
        lambda batch: batch.block(Block.KEY_REFUSED, "401"),
        lambda batch: Limits.objects.current().pause_all(),
    ],
)
def test_what_was_stopped_after_it_was_granted_is_not_sent(runner, stop):
    batch = queued(2)
    (grant,) = pump().grants
    batch.refresh_from_db()
    stop(batch)
    assert runner.take(grant.number) == 0
    assert runner.begun == []


# The lease


def test_a_worker_that_drains_keeps_its_lease_for_the_calls_in_flight(runner, worker, clock):
    keeper, lease = runner.keeper, runner.keeper.lease
    runner.drain()
    lease.deadline = time.monotonic() + 5
    keeper._renewed = time.monotonic() - 10
    clock.advance(10)
    keeper._look_after()
    assert lease.deadline > time.monotonic() + LEASE_SECONDS - 1
    assert Worker.objects.get(pk=worker.pk).lease_until > clock.now


def test_a_worker_that_drains_takes_no_new_lease(runner):
    runner.drain()
    runner.keeper.give_up("it ran out")
    runner.keeper._look_after()
    assert (runner.keeper.lease, Worker.objects.count()) == (None, 1)


def test_the_lease_is_looked_after_whatever_went_wrong(runner, monkeypatch):
    looks = []

    def look():
        looks.append(1)
        if len(looks) == 3:
            runner.keeper._ended.set()
        raise (ValueError("odd"), OperationalError("gone"), KeyError("odd"))[len(looks) - 1]

    monkeypatch.setattr("dispatch.lease.WATCH_SECONDS", 0.01)
    monkeypatch.setattr("dispatch.lease.drop_connection", lambda: None)
    monkeypatch.setattr(runner.keeper, "_look_after", look)
    runner.keeper._keep()
    assert len(looks) == 3


def test_a_worker_begins_without_a_database_and_takes_its_lease_later(runner, monkeypatch):
    keeper = runner.keeper
    keeper.lease = None
    monkeypatch.setattr("dispatch.lease.drop_connection", lambda: None)
    monkeypatch.setattr(keeper._thread, "start", lambda: None)
    fails_once(monkeypatch, keeper, "register", OperationalError("gone"), after=False)
    keeper.start()
    assert keeper.lease is None
    keeper._look_after()
    assert keeper.lease is not None
