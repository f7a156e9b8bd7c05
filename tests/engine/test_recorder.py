"""How ended calls are written down: once, by their own worker, each to its place."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from batchboard.models import Answer, Attempt, Item, Limits, Measured, Spend, TaskVersion, Worker
from batchboard.money import units
from batchboard.pricing import Usage
from dispatch import recorder, rescue
from dispatch.deciding import deciding
from dispatch.outcome import Outcome
from tests.factories import (
    admit,
    draft,
    finished,
    in_review,
    live_worker,
    queued,
    reply,
    states,
    task_version,
)

pytestmark = pytest.mark.django_db

COST = 50 * 1_000 + 20 * 5_000
O = Outcome  # noqa: E741 - the table reads better


@pytest.fixture
def worker(clock):
    return live_worker()


def settle(worker, calls, outcome=Outcome.OK, *, admits=False, **fields):
    events = [finished(call, outcome, **fields) for call in calls]
    return recorder.settle(worker.pk, events, admits=admits)


def everything():
    """All rows that a record may change."""
    return [
        list(model.objects.order_by("pk").values())
        for model in (Attempt, Item, Answer, Spend, TaskVersion)
    ] + [list(Attempt.objects.values("batch").values("batch__cost", "batch__succeeded"))]


def test_a_line_is_logged_for_each_attempt_with_the_same_fields_however_it_ended(worker, caplog):
    caplog.set_level("INFO", "dispatch.attempt")
    batch = queued(2)
    ok, refused = admit(worker).calls
    settle(worker, [ok])
    settle(worker, [refused], Outcome.REFUSED)
    lines = [record.getMessage() for record in caplog.records]
    fields = [[word.split("=")[0] for word in line.split() if "=" in word] for line in lines]
    assert len(lines) == 2
    assert fields[0] == fields[1]
    for line, call, outcome in zip(lines, (ok, refused), ("ok", "refused"), strict=True):
        assert f"batch={batch.public_id} item='{call.parts[0].key}' " in line
        assert f"outcome={outcome} " in line


def test_a_result_is_written_with_what_it_took(worker):
    batch = queued(2)
    usage = Usage(input=100, output=40, cache_write_5m=7, cache_write_1h=5, cache_read=9)
    calls = admit(worker).calls
    settle(worker, calls[:1], usage=usage, request_id="req_1", status=200, latency=1.5)
    attempt = Attempt.objects.get(pk=calls[0].parts[0].attempt)
    bill = 100 * 1_000 + 40 * 5_000 + 7 * 1_250 + 5 * 2_000 + 9 * 100
    assert (attempt.outcome, attempt.status, attempt.request_id) == ("ok", 200, "req_1")
    assert (attempt.latency_ms, units(attempt.cost)) == (1_500, bill)
    assert (attempt.input_tokens, attempt.output_tokens, attempt.cache_read_tokens) == (100, 40, 9)
    assert (attempt.cache_write_5m_tokens, attempt.cache_write_1h_tokens) == (7, 5)
    assert attempt.answer.text == "an answer"
    assert attempt.price.rates["output"] == 5_000
    item = batch.items.get(key="k0")
    assert (item.state, item.result, item.tries) == ("succeeded", attempt, 1)
    assert (units(item.cost), item.cache_write_tokens) == (bill, 12)
    batch.refresh_from_db()
    assert (batch.succeeded, units(batch.cost), batch.cache_write_tokens) == (1, bill, 12)
    assert units(Spend.objects.get(pk="2026-11").known) == bill


def test_a_second_record_of_the_same_call_changes_nothing(worker):
    queued(3)
    calls = admit(worker).calls
    settle(worker, calls[:2])
    before = everything()
    settle(worker, calls[:2])
    settle(worker, calls[:2], Outcome.SERVER)
    assert everything() == before


def test_a_call_that_is_twice_in_a_group_counts_once(worker):
    batch = queued(3)
    calls = admit(worker).calls
    settle(worker, [calls[0], calls[0]])
    batch.refresh_from_db()
    assert (batch.succeeded, units(batch.cost)) == (1, COST)
    assert units(Spend.objects.get().known) == COST


def test_nobody_records_for_another_worker(worker):
    batch = queued(3)
    calls = admit(worker).calls
    settle(live_worker(), calls)
    batch.refresh_from_db()
    assert (batch.succeeded, batch.live_items) == (0, 3)


def test_a_fenced_worker_records_nothing(worker):
    queued(3)
    calls = admit(worker).calls
    Worker.objects.filter(pk=worker.pk).update(fenced=True)
    before = everything()
    with pytest.raises(recorder.Fenced):
        settle(worker, calls, admits=True)
    assert everything() == before


def test_a_worker_whose_calls_were_given_to_others_records_nothing(worker, clock):
    batch = queued(1)
    old = admit(worker).calls
    clock.advance(4_000)
    with deciding() as made:
        rescue.sweep(made.limits, made.now)
    other = live_worker()
    new = admit(other).calls
    with pytest.raises(recorder.Fenced):
        settle(worker, old)
    settle(other, new)
    batch.refresh_from_db()
    assert (batch.succeeded, batch.state) == (1, "review")
    assert batch.items.get().result_id == new[0].parts[0].attempt


def test_a_late_worker_that_nobody_swept_yet_still_counts(worker, clock):
    batch = queued(1)
    calls = admit(worker).calls
    clock.advance(4_000)
    settle(worker, calls)
    batch.refresh_from_db()
    assert batch.succeeded == 1


@pytest.mark.parametrize(
    ("endings", "state", "blocked"),
    [
        ([O.OK], "succeeded", ""),
        ([O.RATE_LIMITED], "waiting", ""),
        ([O.OVERLOADED, O.SERVER], "waiting", ""),
        ([O.OVERLOADED, O.SERVER, O.NETWORK], "dead", ""),
        ([O.TIMEOUT, O.TIMEOUT, O.OK], "succeeded", ""),
        ([O.CONTRACT], "waiting", ""),
        ([O.CONTRACT, O.CONTRACT], "dead", ""),
        ([O.CONTRACT, O.TRUNCATED, O.OK], "succeeded", ""),
        ([O.TRUNCATED, O.TRUNCATED], "dead", ""),
        ([O.REFUSED], "dead", ""),
        ([O.INVALID], "dead", ""),
        ([O.UNAUTHORISED], "waiting", "key_refused"),
        ([O.SPEND_CAP], "waiting", "spend_cap"),
        ([O.LOST], "waiting", ""),
        ([O.CANCELLED], "cancelled", ""),
        ([O.UNKNOWN], "dead", ""),
    ],
)
def test_an_ending_moves_its_item(worker, clock, endings, state, blocked):
    batch = queued(2)
    for ending in endings:
        call = next(call for call in admit(worker, 2).calls if call.parts[0].key == "k0")
        settle(worker, [call], ending, problem=f"was {ending}")
        clock.advance(60)
    item = batch.items.get(key="k0")
    assert (item.state, item.outcome, item.problem) == (state, endings[-1], f"was {endings[-1]}")
    assert item.tries == len(endings)
    assert (item.result_id is None) == (state != "succeeded")
    assert (item.due_at is None) == (state != "waiting")
    batch.refresh_from_db()
    counted = {name: getattr(batch, name) for name in ("succeeded", "dead", "cancelled")}
    assert counted == {name: int(name == state) for name in counted}
    assert (batch.blocked, batch.state) == (blocked, "running")


def test_one_failure_does_not_stop_the_others(worker):
    batch = queued(5)
    calls = admit(worker).calls
    events = [finished(calls[0], Outcome.REFUSED), *map(finished, calls[1:])]
    recorder.settle(worker.pk, events, admits=False)
    batch.refresh_from_db()
    assert (batch.dead, batch.succeeded, batch.state) == (1, 4, "review")


def test_after_one_refused_key_nothing_else_is_sent(worker):
    batch = queued(50, concurrency=2)
    calls = admit(worker).calls
    admission = settle(worker, calls[:1], Outcome.UNAUTHORISED, problem="401: bad", admits=True)
    assert admission.calls == []
    batch.refresh_from_db()
    assert (batch.blocked, batch.blocked_detail) == ("key_refused", "401: bad")
    assert Attempt.objects.count() == 2


def test_a_failures_raw_answer_is_kept(worker):
    queued(2)
    calls = admit(worker).calls
    settle(worker, calls[:1], Outcome.CONTRACT, text="not JSON\0")
    settle(worker, calls[1:], Outcome.SERVER, text=None)
    (answer,) = Answer.objects.all()
    assert answer.text == "not JSON\N{SYMBOL FOR NULL}"


def test_an_error_answer_costs_nothing_and_is_known_to(worker):
    batch = queued(1)
    settle(worker, admit(worker).calls, Outcome.OVERLOADED, usage=Usage())
    batch.refresh_from_db()
    assert (batch.cost, batch.unknown_cost) == (0, 0)
    assert Attempt.objects.get().cost == 0


def test_an_unknown_cost_is_unknown_and_never_nothing(worker):
    batch = queued(1)
    (call,) = admit(worker).calls
    settle(worker, [call], Outcome.TIMEOUT, usage=None)
    attempt = Attempt.objects.get()
    assert (attempt.cost, attempt.input_tokens) == (None, None)
    batch.refresh_from_db()
    assert units(batch.unknown_cost) == units(batch.reserved) == call.reserved


def test_the_last_item_asks_for_review_once(worker):
    batch = queued(3)
    calls = admit(worker).calls
    settle(worker, calls[:2])
    batch.refresh_from_db()
    assert (batch.state, batch.finished_at) == ("running", None)
    settle(worker, calls[2:])
    batch.refresh_from_db()
    assert (batch.state, batch.reviews.count()) == ("review", 1)
    assert batch.finished_at is not None


def test_a_freed_slot_is_filled_in_the_same_decision(worker, settings):
    settings.DISPATCH_CONCURRENCY = 3
    queued(10)
    calls = admit(worker).calls
    following = settle(worker, calls[:2], admits=True).calls
    assert [call.parts[0].key for call in following] == ["k3", "k4"]
    started = Attempt.objects.filter(pk__in=[call.parts[0].attempt for call in following])
    assert all(attempt.started_at and not attempt.granted_until for attempt in started)


def test_a_worker_fills_its_own_share_only(worker, settings):
    settings.DISPATCH_CONCURRENCY = 4
    live_worker()
    queued(10)
    calls = admit(worker).calls
    assert settle(worker, calls[:2], admits=True).calls == []
    assert len(settle(worker, calls[2:3], admits=True).calls) == 1


def test_versions_learn_from_answered_calls(worker):
    version = task_version(system="s" * 70)
    queued(3, version=version)
    calls = admit(worker).calls
    settle(worker, calls[:2], latency=0.5)
    settle(worker, calls[2:], Outcome.SERVER, usage=Usage())
    seen = Measured.objects.get(version=version, mode="single")
    assert (seen.calls, seen.items, seen.bytes) == (2, 2, 2 * (30 + 70))
    assert (seen.input_tokens, seen.output_tokens) == (2 * 50, 2 * 20)
    assert seen.latency_ms == 1_000


def test_an_answer_after_the_batch_was_cancelled_is_counted_and_paid(worker):
    batch = queued(2)
    calls = admit(worker).calls
    batch.cancel()
    settle(worker, calls[:1])
    settle(worker, calls[1:], Outcome.UNAUTHORISED, usage=Usage())
    batch.refresh_from_db()
    assert (batch.state, batch.blocked, batch.succeeded) == ("cancelled", "", 1)
    assert units(batch.cost) == COST
    with deciding() as made:
        rescue.sweep(made.limits, made.now)
    batch.refresh_from_db()
    assert (batch.cancelled, states(batch)) == (1, {"succeeded": 1, "cancelled": 1})


def test_tokens_and_cost_of_a_shared_call_are_shared_to_the_last_unit(worker):
    queued(3)
    calls = admit(worker).calls
    call = calls[0]
    call.parts = [each.parts[0] for each in calls]
    answer = reply(usage=Usage(input=100, output=10))
    recorder.settle(worker.pk, [finished(call, reply=answer)], admits=False)
    ended = Attempt.objects.order_by("pk")
    assert [attempt.input_tokens for attempt in ended] == [34, 33, 33]
    assert [attempt.output_tokens for attempt in ended] == [4, 3, 3]
    assert sum(units(attempt.cost) for attempt in ended) == 100 * 1_000 + 10 * 5_000


@pytest.mark.skipif(connection.vendor != "sqlite", reason="not captured there")
@pytest.mark.parametrize("size", [1, 10])
def test_a_group_costs_as_many_statements_whatever_its_size(worker, size):
    """The hot path: all that the engine can do in a second hangs on it."""
    queued(60)
    calls = admit(worker, 40).calls
    settle(worker, calls[:5])
    with CaptureQueriesContext(connection) as asked:
        again = recorder.settle(worker.pk, [finished(c) for c in calls[5 : 5 + size]], admits=True)
    assert len(again.calls) >= size
    assert len(asked) <= 24


def test_an_empty_group_only_admits(worker):
    queued(2)
    assert recorder.settle(worker.pk, [], admits=False).calls == []
    assert len(recorder.settle(worker.pk, [], admits=True).calls) == 2


def test_a_pause_of_everything_lets_a_record_through_and_no_call(worker):
    batch = queued(3)
    calls = admit(worker, 2).calls
    Limits.objects.current().pause_all()
    assert settle(worker, calls, admits=True).calls == []
    batch.refresh_from_db()
    assert batch.succeeded == 2


def test_other_batches_are_left_alone(worker):
    done, other = in_review(3), draft(2)
    batch = queued(1)
    settle(worker, admit(worker).calls)
    batch.refresh_from_db()
    assert batch.state == "review"
    other.refresh_from_db()
    done.refresh_from_db()
    assert (other.state, other.ended, done.ended) == ("draft", 0, 3)
    assert timedelta(0) == batch.finished_at - batch.started_at


@pytest.mark.parametrize("text", ["cut \ud83d", "\0", "\ud800\udc00 \ufffe"])
def test_no_answer_is_too_odd_to_be_kept(worker, text):
    """A model can be cut off in the middle of a character, and a record is of a whole group."""
    batch = queued(2)
    calls = admit(worker).calls
    odd = {"text": text, "problem": text, "request_id": "r" * 200, "stop_reason": "s" * 60}
    events = [finished(calls[0], Outcome.CONTRACT, **odd), finished(calls[1])]
    recorder.settle(worker.pk, events, admits=False)
    assert states(batch) == {"waiting": 1, "succeeded": 1}
    assert Answer.objects.count() == 2
