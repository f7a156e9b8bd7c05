"""Whose calls are let through, and how many: the cap, fairness, and a batch's own settings."""

import threading

import pytest
from django.db import connection

from batchboard import rows
from batchboard.models import Attempt, Batch, Limits
from dispatch import contender, governor, purse, recorder
from dispatch.deciding import deciding
from dispatch.governor import Target
from dispatch.live import Live, count_live
from dispatch.outcome import Outcome
from tests.factories import admit, finished, live_count, live_worker, queued, states, task_version

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker():
    return live_worker()


@pytest.fixture(autouse=True)
def cap(settings):
    """cap(n) sets the cap."""

    def configure(slots):
        settings.DISPATCH_CONCURRENCY = slots

    configure(100)
    return configure


def settle(worker, calls, outcome=Outcome.OK, **fields):
    recorder.settle(worker.pk, [finished(c, outcome, **fields) for c in calls], admits=False)


def by_batch(calls, *batches):
    return tuple(sum(call.batch == batch.pk for call in calls) for batch in batches)


def waits(batch):
    batch.refresh_from_db()
    return batch.waits_for


# The cap


@pytest.mark.parametrize("slots", [1, 4, 7])
def test_over_all_batches_never_more_than_the_cap(worker, cap, slots):
    cap(slots)
    batches = [queued(6), queued(6), queued(6, concurrency=2)]
    flying, ended = [], 0
    while ended < 18:
        flying += admit(worker).calls
        assert len(flying) == live_count() <= slots
        assert flying, "nothing moves"
        settle(worker, flying[:2])
        ended += len(flying[:2])
        flying = flying[2:]
    assert {Batch.objects.get(pk=batch.pk).state for batch in batches} == {"review"}
    assert Attempt.objects.count() == 18


def test_a_slot_that_is_freed_is_filled(worker, cap):
    cap(3)
    queued(10)
    calls = admit(worker).calls
    settle(worker, calls[:1])
    assert len(admit(worker).calls) == 1
    assert admit(worker).calls == []


def test_a_lower_cap_lets_nothing_through_until_there_is_room(worker, cap):
    queued(10)
    cap(5)
    calls = admit(worker).calls
    cap(2)
    for call in calls[:3]:
        assert admit(worker).calls == []
        settle(worker, [call])
    assert admit(worker).calls == []
    settle(worker, calls[3:4])
    assert len(admit(worker).calls) == 1


def test_grants_hold_slots_as_calls_do(worker, cap):
    cap(4)
    queued(10)
    assert len(admit(worker, granted=True).calls) == 4
    assert admit(worker).calls == []


def test_an_item_has_one_live_attempt(worker):
    queued(4)
    admit(worker)
    admit(worker)
    items = Attempt.objects.live().values_list("item", flat=True)
    assert len(items) == len(set(items)) == 4


def test_very_many_items_go_in_several_rounds_and_statements(worker, cap, monkeypatch):
    cap(100)
    monkeypatch.setattr(governor, "MOST_ITEMS", 10)
    monkeypatch.setattr(rows, "MOST_VARIABLES", 60)
    batch = queued(25)
    rounds = [admit(worker) for _ in range(3)]
    assert [len(one.calls) for one in rounds] == [10, 10, 5]
    assert [one.retry_in for one in rounds] == [0.0, 0.0, None]
    assert states(batch) == {"running": 25}


def test_a_cut_cap_holds(worker, cap):
    cap(10)
    Limits.objects.update_or_create(pk=1, defaults={"cap_factor": 0.5})
    queued(20)
    assert len(admit(worker).calls) == 5


def test_deciders_on_many_connections_keep_the_cap(transactional_db, cap):
    if connection.vendor != "postgresql":
        pytest.skip("one connection at a time may write to SQLite")
    cap(5)
    queued(60)
    workers = [live_worker() for _ in range(4)]
    most = []

    def work(worker):
        try:
            for _ in range(8):
                calls = admit(worker, 3).calls
                most.append(live_count())
                settle(worker, calls)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=[worker]) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < max(most) <= 5
    batch = Batch.objects.get()
    assert Attempt.objects.filter(outcome="ok").count() == batch.succeeded
    assert batch.succeeded == batch.items.succeeded().count() > 5


# Between batches


@pytest.mark.parametrize(
    ("slots", "shares"), [(9, (3, 3, 3)), (10, (4, 3, 3)), (2, (1, 1, 0)), (60, (20, 20, 20))]
)
def test_slots_are_shared_evenly(worker, cap, slots, shares):
    cap(slots)
    batches = [queued(20), queued(20), queued(20)]
    assert by_batch(admit(worker).calls, *batches) == shares


def test_who_has_fewest_in_flight_is_served_first(worker, cap):
    cap(6)
    old = queued(20)
    admit(worker)
    cap(12)
    new = queued(20)
    assert by_batch(admit(worker).calls, old, new) == (0, 6)


def test_what_a_small_batch_leaves_the_others_take(worker, cap):
    cap(12)
    small, large = queued(2), queued(50)
    assert by_batch(admit(worker).calls, small, large) == (2, 10)


@pytest.mark.parametrize(("slots", "shares"), [(3, (1, 2)), (4, (2, 2)), (1, (0, 1))])
def test_priority_decides_between_equals(worker, cap, slots, shares):
    cap(slots)
    plain, urgent = queued(20), queued(20, priority=1)
    assert by_batch(admit(worker).calls, plain, urgent) == shares


def test_batches_with_nothing_left_to_send_keep_no_other_out(worker, clock, monkeypatch):
    monkeypatch.setattr(contender, "BATCHES_AT_ONCE", 2)
    under_way, delayed = queued(1), queued(1)
    calls = admit(worker).calls
    settle(worker, [c for c in calls if c.batch == delayed.pk], Outcome.SERVER)
    late, later = queued(1), queued(1)
    assert by_batch(admit(worker).calls, under_way, delayed, late, later) == (0, 0, 1, 1)
    clock.advance(600)
    assert by_batch(admit(worker).calls, delayed) == (1,)


def test_within_a_batch_the_oldest_item_goes_first(worker, cap):
    cap(3)
    queued(10)
    calls = admit(worker).calls
    assert [call.parts[0].key for call in calls] == ["k0", "k1", "k2"]
    settle(worker, calls)
    assert [call.parts[0].key for call in admit(worker).calls] == ["k3", "k4", "k5"]


# Between workers


def test_a_worker_gets_no_more_than_it_has_room_for():
    queued(20)
    small, large, full = live_worker(), live_worker(), live_worker()
    with deciding() as made:
        targets = [Target(small.pk, 1), Target(large.pk, 4), Target(full.pk, 0)]
        governor.admit(made, targets, count_live(made.limits), granted=True)
    held = [live_count(worker=each) for each in (small, large, full)]
    assert held == [1, 4, 0]


def test_calls_are_spread_over_workers():
    queued(20)
    first, second = live_worker(), live_worker()
    with deciding() as made:
        targets = [Target(first.pk, 6), Target(second.pk, 6)]
        made.limits.concurrency = 6
        governor.admit(made, targets, count_live(made.limits), granted=True)
    assert (live_count(worker=first), live_count(worker=second)) == (3, 3)


def test_without_a_worker_batches_wait_for_one():
    batch = queued(3)
    with deciding() as made:
        assert governor.admit(made, [], count_live(made.limits), granted=True).calls == []
    assert waits(batch) == "worker"


@pytest.mark.parametrize(
    ("slots", "workers", "holds", "room"),
    [(10, 1, 0, 10), (10, 2, 0, 5), (10, 3, 1, 3), (10, 3, 9, 0), (1, 4, 0, 1), (10, 0, 0, 10)],
)
def test_a_workers_fair_room(cap, slots, workers, holds, room):
    cap(slots)
    live = Live()
    live.by_worker[7] = holds
    assert governor.fair_room(Limits.objects.current(), live, 7, workers) == room


# A batch's own settings


def test_a_batch_keeps_its_own_concurrency(worker):
    narrow, wide = queued(20, concurrency=2), queued(20)
    calls = admit(worker).calls
    assert by_batch(calls, narrow, wide) == (2, 20)
    settle(worker, [call for call in calls if call.batch == narrow.pk][:1])
    assert by_batch(admit(worker).calls, narrow, wide) == (1, 0)


def test_a_wave_begins_when_the_whole_last_one_ended(worker):
    batch = queued(7, schedule="waves", concurrency=3)
    first = admit(worker).calls
    assert len(first) == 3
    settle(worker, first[:2])
    assert admit(worker).calls == []
    assert waits(batch) == "wave"
    settle(worker, first[2:])
    second = admit(worker).calls
    assert [call.parts[0].key for call in second] == ["k3", "k4", "k5"]
    settle(worker, second)
    assert len(admit(worker).calls) == 1
    batch.refresh_from_db()
    assert batch.wave == 3


def test_a_wave_that_the_cap_splits_is_still_one_wave(worker, cap):
    cap(2)
    queued(9, schedule="waves", concurrency=4)
    calls = admit(worker).calls
    settle(worker, calls[:1])
    calls = calls[1:] + admit(worker).calls
    settle(worker, calls[:1])
    calls = calls[1:] + admit(worker).calls
    settle(worker, calls[:1])
    assert admit(worker).calls == [], "four were let through: the wave is over"
    settle(worker, calls[1:])
    assert len(admit(worker).calls) == 2


@pytest.mark.parametrize("schedule", ["window", "waves"])
def test_after_the_first_look_the_batch_waits_for_a_person(worker, schedule):
    batch = queued(7, schedule=schedule, concurrency=3, first_look=True)
    calls = admit(worker).calls
    settle(worker, calls[:1])
    assert admit(worker).calls == [], "no fourth before the look"
    settle(worker, calls[1:2], Outcome.REFUSED)
    settle(worker, calls[2:])
    assert admit(worker).calls == []
    batch.refresh_from_db()
    assert (batch.blocked, batch.state) == ("first_look", "running")
    batch.resume()
    assert batch.looked
    assert len(admit(worker).calls) == 3


def test_a_batch_no_larger_than_its_first_look_needs_none(worker):
    batch = queued(3, concurrency=3, first_look=True)
    settle(worker, admit(worker).calls)
    admit(worker)
    batch.refresh_from_db()
    assert (batch.blocked, batch.state) == ("", "review")


def test_a_batch_whose_time_is_over_stands_still(worker, clock):
    batch = queued(5, deadline=60, concurrency=1)
    admit(worker)
    clock.advance(59)
    assert waits(batch) == ""
    clock.advance(1)
    admit(worker)
    batch.refresh_from_db()
    assert batch.blocked == "deadline"
    settle(worker, [])
    assert admit(worker).calls == []


@pytest.mark.parametrize("stop", ["draft", "paused", "review", "cancelled", "released"])
def test_only_open_batches_are_served(worker, stop):
    batch = queued(3)
    Batch.objects.filter(pk=batch.pk).update(state=stop)
    assert admit(worker).calls == []


def test_a_blocked_batch_is_passed_over(worker):
    batch, other = queued(3), queued(3)
    batch.block("budget")
    assert by_batch(admit(worker).calls, batch, other) == (0, 3)


# Items that come back


def test_an_item_that_failed_waits_for_its_time(worker, clock):
    batch = queued(1)
    settle(worker, admit(worker).calls, Outcome.SERVER)
    admission = admit(worker)
    assert admission.calls == []
    assert 0.4 < admission.retry_in <= 1
    assert waits(batch) == "backoff"
    clock.advance(1)
    assert len(admit(worker).calls) == 1
    assert waits(batch) == ""


def test_an_item_that_came_back_goes_before_fresh_ones(worker, cap, clock):
    cap(1)
    queued(5)
    settle(worker, admit(worker).calls, Outcome.CONTRACT)
    assert [call.parts[0].key for call in admit(worker).calls] == ["k0"]


def test_an_item_that_came_back_is_let_through_once_in_a_round(worker, cap, clock):
    """Also where its batch gets more than its even share, and so asks for its items twice."""
    batch = queued(5)
    settle(worker, admit(worker).calls, Outcome.SERVER)
    clock.advance(10)
    other = queued(5, concurrency=1)
    cap(5)
    calls = admit(worker).calls
    assert by_batch(calls, batch, other) == (4, 1)
    assert len({call.parts[0].item for call in calls}) == 5
    settle(worker, calls)
    clock.advance(10)
    assert len({call.parts[0].item for call in admit(worker).calls}) == 2


@pytest.mark.parametrize(
    "between",
    [[], [Outcome.OVERLOADED], [Outcome.RATE_LIMITED], [Outcome.LOST, Outcome.NETWORK]],
)
def test_an_answer_that_was_cut_off_gets_twice_the_tokens(worker, clock, between):
    """Whatever else goes wrong on the way to it."""
    queued(1, version=task_version(max_tokens=200))
    (call,) = admit(worker).calls
    assert call.max_tokens == 200
    for outcome in [Outcome.TRUNCATED, *between]:
        settle(worker, [call], outcome, retry_after=1)
        clock.advance(10)
        (call,) = admit(worker).calls
        assert call.max_tokens == 400


def test_no_answer_gets_more_tokens_than_any_model_gives(worker):
    queued(1, version=task_version(max_tokens=100_000))
    settle(worker, admit(worker).calls, Outcome.TRUNCATED)
    assert admit(worker).calls[0].max_tokens == purse.MAX_TOKENS


def test_live_attempts_are_counted_from_the_oldest_on(worker, cap):
    cap(3)
    queued(12)
    for _ in range(2):
        settle(worker, admit(worker).calls)
    calls = admit(worker).calls
    settle(worker, calls[:1])
    admit(worker)
    assert Limits.objects.get().oldest_live == calls[1].parts[0].attempt
    assert count_live(Limits.objects.get()).slots == 3
