"""The provider is away: what is sent, what is spared, and how it goes on."""

import pytest

from batchboard.models import Event, ModelLimit
from dispatch import outage, recorder
from dispatch.outcome import Outcome as O
from tests.factories import admit, finished, live_worker, queued, states, task_version

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker(clock, settings):
    settings.DISPATCH_CONCURRENCY = 100
    settings.DISPATCH_HEADROOM = 1.0
    return live_worker(seconds=100_000)


def settle(worker, calls, outcome=O.OK, **fields):
    events = [finished(call, outcome, **fields) for call in calls]
    return recorder.settle(worker.pk, events, admits=False)


def fall_silent(worker, outcome=O.OVERLOADED):
    settle(worker, admit(worker).calls[: outage.CALLS], outcome)


def probe(worker, clock):
    """The calls that begin when the pause is over."""
    clock.advance((ModelLimit.objects.get().paused_until - clock.now).total_seconds())
    return admit(worker).calls


@pytest.mark.parametrize(
    ("outcome", "waits"),
    [(O.OVERLOADED, "overloaded"), (O.SERVER, "server_fails"), (O.NETWORK, "unreachable")],
)
def test_when_no_call_is_answered_every_batch_on_the_model_waits(worker, outcome, waits):
    first, second = queued(30), queued(30)
    fall_silent(worker, outcome)
    assert admit(worker).calls == []
    for batch in (first, second):
        batch.refresh_from_db()
        assert (batch.waits_for, batch.dead) == (waits, 0)
        assert batch.waits_until == ModelLimit.objects.get().paused_until
    assert Event.objects.get(verb="limits.outage").detail["outcome"] == outcome


def test_fewer_failures_than_that_are_the_items_own(worker):
    queued(40)
    settle(worker, admit(worker).calls[: outage.CALLS - 1], O.OVERLOADED)
    assert not ModelLimit.objects.get().in_outage
    assert ModelLimit.objects.get().paused_until is None


@pytest.mark.parametrize("answer", [O.OK, O.CONTRACT, O.REFUSED, O.INVALID])
def test_an_answer_in_between_starts_the_count_anew(worker, answer):
    queued(60)
    calls = admit(worker).calls
    settle(worker, calls[:15], O.OVERLOADED)
    settle(worker, calls[15:16], answer)
    settle(worker, calls[16:31], O.OVERLOADED)
    assert not ModelLimit.objects.get().in_outage


def test_calls_that_ran_into_our_own_timeout_are_no_outage(worker):
    queued(60)
    settle(worker, admit(worker).calls[:40], O.TIMEOUT, usage=None)
    assert not ModelLimit.objects.get().in_outage


def test_another_model_goes_on(worker):
    queued(30)
    fall_silent(worker)
    other = queued(3, version=task_version(model="claude-sonnet-5-5"))
    assert {call.batch for call in admit(worker).calls} == {other.pk}


def test_in_an_outage_one_call_at_a_time_asks_and_no_item_dies(worker, clock):
    batch = queued(30)
    fall_silent(worker)
    for _ in range(100):
        calls = probe(worker, clock)
        assert len(calls) <= 1
        settle(worker, calls, O.OVERLOADED)
    batch.refresh_from_db()
    assert batch.dead == 0
    assert states(batch)["waiting"] + states(batch).get("running", 0) == 30


def test_pauses_grow_to_a_minute(worker, clock):
    queued(30)
    settle(worker, admit(worker).calls, O.OVERLOADED)
    pauses = []
    for _ in range(20):
        pauses.append((ModelLimit.objects.get().paused_until - clock.now).total_seconds())
        settle(worker, probe(worker, clock), O.OVERLOADED)
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (5, 60)


def test_the_first_answer_ends_it_and_everything_goes_on_at_once(worker, clock):
    batch = queued(30)
    settle(worker, admit(worker).calls, O.OVERLOADED)
    (call,) = probe(worker, clock)
    settle(worker, [call])
    row = ModelLimit.objects.get()
    assert (row.in_outage, row.unanswered, row.paused_until) == (False, 0, None)
    assert Event.objects.get(verb="limits.answered").detail["seconds"] >= 5
    clock.advance(1)
    assert len(admit(worker).calls) == 29
    batch.refresh_from_db()
    assert (batch.succeeded, batch.dead) == (1, 0)
