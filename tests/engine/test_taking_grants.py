"""A worker begins the calls of its grant: once, in time, and only its own."""

import asyncio
import time

import pytest

from batchboard.models import Attempt
from dispatch import recorder
from dispatch.admitted import GRANT_SECONDS
from dispatch.lease import LEASE_SECONDS, Lease
from dispatch.modes.work import Framing, ItemWork
from dispatch.pump import pump
from dispatch.runner import Runner
from dispatch.versions import work_of
from tests.factories import live_count, live_worker, queued, reply

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker(clock):
    return live_worker()


@pytest.fixture
def runner(worker, monkeypatch):
    """A runner that is not started: what it would begin is in `runner.begun`."""
    runner = Runner(worker.node)
    runner.keeper.lease = Lease(worker.pk, time.monotonic() + LEASE_SECONDS)
    runner.begun = []
    monkeypatch.setattr(runner, "_begin", runner.begun.extend)
    yield runner
    runner._sending._loop.close()


def grant():
    (made,) = pump().grants
    return made.number


def test_a_grants_calls_are_begun(runner):
    queued(3)
    assert runner.take(grant()) == 3
    assert [call.parts[0].key for call in runner.begun] == ["k0", "k1", "k2"]
    assert Attempt.objects.live().filter(started_at=None).count() == 0


def test_a_grant_that_comes_twice_is_begun_once(runner, clock):
    queued(3)
    number = grant()
    runner.take(number)
    clock.advance(0.5)
    assert runner.take(number) == 0
    assert len(runner.begun) == live_count() == 3


def test_a_grant_that_comes_too_late_is_not_begun(runner, clock):
    queued(3)
    number = grant()
    clock.advance(GRANT_SECONDS)
    assert runner.take(number) == 0
    assert runner.begun == []


@pytest.mark.parametrize("seconds", [0, 1.9])
def test_a_worker_whose_lease_is_about_to_end_begins_nothing(runner, seconds):
    queued(3)
    runner.keeper.lease.deadline = time.monotonic() + seconds
    assert runner.take(grant()) == 0
    assert Attempt.objects.live().filter(started_at=None).count() == 3


def test_nobody_begins_anothers_grant(runner):
    queued(3)
    number = grant()
    runner.keeper.lease.worker = live_worker().pk
    assert runner.take(number) == 0


@pytest.mark.parametrize(("seconds", "calls"), [(1.9, 0), (10, 1)])
def test_a_call_that_comes_too_late_is_not_sent_and_frees_its_slot(
    runner, monkeypatch, seconds, calls
):
    """The lease may be renewed after all: what was not said would hold its slot for good."""
    sent = []

    async def ask(client, request, seconds, on_begin):
        sent.append(request)
        return reply()

    monkeypatch.setattr("dispatch.sending.ask", ask)
    monkeypatch.setattr("dispatch.sending.make_client", object)
    batch = queued(1)
    runner.take(grant())
    runner.keeper.lease.deadline = time.monotonic() + seconds
    (call,) = runner.begun
    work, items = work_of(call.version), [ItemWork("k0", {"text": "row 0"})]
    asyncio.run(runner._sending._call(call, work, items, Framing()))
    assert len(sent) == calls
    recorder.settle(call.worker, runner._collect(0), admits=False)
    assert (batch.live_items, Attempt.objects.get().cost is None) == (0, False)
