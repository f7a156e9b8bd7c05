"""Submissions on their way: sent once whatever is cut off, collected once whatever breaks."""

import json
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace

import anthropic
import httpx2
import pytest

from batchboard.models import Attempt, Spend, Submission
from batchboard.states import BatchState, SubmissionState
from dispatch import submissions
from dispatch.message_batches import Seen, write_body
from dispatch.outcome import Outcome
from dispatch.process_identity import machine
from dispatch.submissions import LIFETIME, MARGIN_SECONDS, POST_SECONDS
from tests.engine.test_provider import status_error
from tests.engine.test_submitting import decide
from tests.factories import queued, states, task_version

pytestmark = pytest.mark.django_db

S = SubmissionState
REQUEST = httpx2.Request("POST", "http://provider/v1/messages/batches")


class Killed(BaseException):
    """The process ends here."""


def broken(cause):
    error = anthropic.APIConnectionError(request=REQUEST)
    error.__cause__ = cause
    return error


def message(text="an answer", stop="end_turn"):
    usage = {"input_tokens": 50, "output_tokens": 20}
    content = [{"type": "text", "text": text}]
    return {"stop_reason": stop, "content": content, "usage": usage}


def succeeded(**fields):
    return {"type": "succeeded", "message": message(**fields)}


def errored(kind, text="It failed."):
    error = {"type": "error", "error": {"type": kind, "message": text}}
    return {"type": "errored", "error": error}


class Provider:
    """What the provider has, in memory, and what goes wrong on the way to it."""

    def __init__(self, clock):
        self.clock = clock
        self.batches = {}
        self.created = 0
        self.cancelled = []
        self.before = self.after = self.while_reading = None
        self.answers = {}

    def __call__(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def create(self, body, seconds):
        if self.before:
            raise self.before
        requests = json.loads(body.read())["requests"]
        found = self.add([one["custom_id"] for one in requests])
        found.bodies = [one["params"] for one in requests]
        self.created += 1
        if self.after:
            raise self.after
        return self._seen(found)

    def add(self, custom_ids):
        id = f"msgbatch_{len(self.batches)}"
        results = {each: succeeded() for each in custom_ids}
        found = SimpleNamespace(id=id, at=self.clock.now, results=results, ended=None)
        self.batches[id] = found
        return found

    def end(self):
        for batch in self.batches.values():
            batch.ended = self.clock.now

    def created_since(self, moment):
        newest_first = reversed(self.batches.values())
        return [self._seen(one) for one in newest_first if one.at >= moment]

    def look_at(self, id):
        if id not in self.batches:
            raise status_error(404, "not_found_error")
        return self._seen(self.batches[id])

    def cancel(self, id):
        self.cancelled.append(id)

    def results(self, id):
        for number, one in enumerate(self.batches[id].results.items()):
            if self.while_reading and number == 3:
                raise self.while_reading
            yield one

    def _seen(self, one):
        return Seen(one.id, len(one.results), one.at, one.ended)


@pytest.fixture
def provider(clock, monkeypatch, announced):
    provider = Provider(clock)
    monkeypatch.setattr(submissions, "MessageBatches", provider)
    return provider


@pytest.fixture
def batch(provider):
    batch = queued(5, mode="provider_batch")
    decide()
    return batch


def work(clock, seconds=600):
    clock.advance(seconds)
    return submissions.work_through()


def only(batch):
    (one,) = Submission.objects.filter(batch=batch)
    return one


def outcomes():
    return sorted(Attempt.objects.values_list("outcome", flat=True))


def test_items_are_sent_once_waited_for_and_settled_at_half_the_price(clock, provider, batch):
    work(clock)
    one = only(batch)
    assert (one.state, one.proven, one.owner) == (S.WORKING, True, "")
    sent = provider.batches[one.provider_id]
    assert all(len(each) <= 64 and each.startswith(one.public_id) for each in sent.results)
    assert sent.bodies[0]["messages"][0]["content"] == "Look at row 0"
    work(clock)
    assert only(batch).state == S.WORKING
    provider.end()
    work(clock)
    batch.refresh_from_db()
    one = only(batch)
    assert (batch.state, batch.succeeded, one.state) == (BatchState.REVIEW, 5, S.ENDED)
    half = (50 * Decimal("0.10") + 20 * Decimal("0.50")) / 2 / 10**6
    assert batch.cost == 5 * half == Spend.objects.get().known
    assert (one.unsettled, one.reserved, batch.reserved) == (0, 0, 0)
    assert provider.created == 1


def test_a_process_killed_after_the_provider_took_it_does_not_send_again(clock, provider, batch):
    provider.after = Killed()
    with pytest.raises(Killed):
        work(clock)
    assert only(batch).state == S.SENDING
    provider.after = None
    work(clock, 5)
    one = only(batch)
    assert (one.state, one.proven, provider.created) == (S.WORKING, False, 1)
    provider.end()
    work(clock)
    assert (only(batch).proven, states(batch), provider.created) == (True, {"succeeded": 5}, 1)


def test_it_is_sent_again_only_when_it_can_no_longer_arrive(clock, provider, batch):
    provider.before = Killed()
    with pytest.raises(Killed):
        work(clock)
    provider.before = None
    sent_at = only(batch).sent_at
    while only(batch).state == S.SENDING:
        assert provider.created == 0
        work(clock, 20)
    assert clock.now >= sent_at + timedelta(seconds=POST_SECONDS + MARGIN_SECONDS)
    work(clock, 20)
    assert (provider.created, only(batch).state) == (1, S.WORKING)


def test_where_its_end_is_known_it_is_sent_again_a_minute_after(clock, provider, batch):
    provider.before = broken(httpx2.ReadTimeout("slow"))
    work(clock)
    provider.before = None
    cut_off_at = clock.now
    while only(batch).state == S.SENDING:
        work(clock, 5)
    assert MARGIN_SECONDS <= (clock.now - cut_off_at).total_seconds() <= MARGIN_SECONDS + 20
    work(clock, 5)
    assert (provider.created, only(batch).state) == (1, S.WORKING)


def test_what_a_process_of_this_machine_was_sending_ended_with_it(clock, provider, batch):
    provider.before = Killed()
    with pytest.raises(Killed):
        work(clock)
    provider.before = None
    until = clock.now + timedelta(seconds=20)
    Submission.objects.update(owner=f"{machine()}/{2**22 + 1}/x", lease_until=until)
    work(clock, 1)
    assert only(batch).cut_off_at == clock.now
    work(clock, MARGIN_SECONDS)
    assert only(batch).state in {S.READY, S.WORKING}


def test_a_batch_of_somebody_else_is_put_back_and_the_search_goes_on(clock, provider, batch):
    theirs = provider.add([f"other-{n}" for n in range(5)])
    provider.after = broken(httpx2.ReadError("gone"))
    work(clock, 1)
    provider.after = None
    work(clock, 20)
    assert only(batch).provider_id == theirs.id
    provider.end()
    for _ in range(3):
        work(clock, 20)
    one = only(batch)
    assert (one.refused, states(batch), provider.created) == ([theirs.id], {"succeeded": 5}, 1)
    assert provider.cancelled == []


def test_one_that_another_submission_owns_is_never_taken(clock, provider, batch):
    other = queued(5, mode="provider_batch")
    decide()
    provider.after = None
    work(clock)
    first, second = Submission.objects.order_by("pk")
    Submission.objects.filter(pk=second.pk).update(state=S.SENDING, provider_id="", next_at=None)
    del provider.batches[second.provider_id]
    work(clock, 5)
    second.refresh_from_db()
    assert (second.state, second.provider_id) == (S.SENDING, "")
    assert other.pk == second.batch_id
    assert first.provider_id


def test_two_are_never_in_doubt_at_once(clock, provider, batch):
    provider.before = broken(httpx2.ReadError("gone"))
    queued(3, mode="provider_batch")
    decide()
    work(clock)
    assert sorted(Submission.objects.values_list("state", flat=True)) == [S.READY, S.SENDING]


def test_without_a_connection_nothing_was_sent_and_it_is_tried_again(clock, provider, batch):
    provider.before = broken(httpx2.ConnectError("refused"))
    work(clock)
    assert only(batch).state == S.READY
    provider.before = None
    work(clock, 20)
    assert (only(batch).state, provider.created) == (S.WORKING, 1)


def test_a_rate_limit_on_sending_is_waited_for_as_long_as_it_says(clock, provider, batch):
    provider.before = status_error(429, "rate_limit_error", headers={"retry-after": "90"})
    work(clock)
    provider.before = None
    assert work(clock, 60) == 0
    assert work(clock, 31) == 1
    assert (only(batch).state, states(batch)) == (S.WORKING, {"running": 5})


@pytest.mark.parametrize("status", [500, 503, 529])
def test_after_a_server_error_it_is_looked_for(clock, provider, batch, status):
    provider.after = status_error(status, "api_error")
    work(clock)
    provider.after = None
    work(clock, 20)
    assert (only(batch).state, provider.created) == (S.WORKING, 1)


@pytest.mark.parametrize("status", [400, 413])
def test_an_invalid_submission_ends_its_items(clock, provider, batch, status):
    provider.before = status_error(status, "invalid_request_error")
    work(clock)
    batch.refresh_from_db()
    assert (only(batch).state, states(batch), batch.cost) == (S.FAILED, {"dead": 5}, 0)
    assert outcomes() == ["invalid"] * 5


@pytest.mark.parametrize(
    ("status", "block"),
    [(401, "key_refused"), (402, "spend_cap"), (403, "key_refused"), (404, "key_refused")],
)
def test_a_refused_key_blocks_the_batch_and_its_items_wait(clock, provider, batch, status, block):
    provider.before = status_error(status)
    work(clock)
    batch.refresh_from_db()
    assert (batch.blocked, states(batch), batch.reserved) == (block, {"waiting": 5}, 0)
    provider.before = None
    batch.resume()
    decide()
    work(clock)
    provider.end()
    work(clock)
    assert states(batch) == {"succeeded": 5}


def test_every_kind_of_result_goes_where_it_belongs(clock, provider, monkeypatch):
    contract = {"type": "object", "required": ["label"]}
    batch = queued(9, version=task_version(contract=contract), mode="provider_batch")
    decide()
    work(clock)
    (sent,) = provider.batches.values()
    ids = list(sent.results)
    results = [
        succeeded(text='{"label": 1}'),
        succeeded(text="no"),
        succeeded(stop="max_tokens"),
        succeeded(stop="refusal"),
        errored("invalid_request_error"),
        errored("overloaded_error"),
        errored("rate_limit_error"),
        {"type": "expired"},
    ]
    sent.results = dict(zip(ids, results, strict=False))
    provider.end()
    while only(batch).state != S.ENDED:
        work(clock)
    assert outcomes() == sorted(
        ["ok", "contract", "truncated", "refused", "invalid", "overloaded", "rate_limited",
         "expired", "lost"]
    )  # fmt: skip
    assert states(batch) == {"succeeded": 1, "dead": 2, "waiting": 6}
    unbilled = Attempt.objects.filter(outcome__in=["expired", "invalid", "overloaded"])
    assert set(unbilled.values_list("cost", flat=True)) == {0}
    batch.refresh_from_db()
    assert batch.unknown_cost == Attempt.objects.get(outcome="lost").reserved


def test_what_fails_goes_again_in_a_further_submission(clock, provider, batch):
    work(clock)
    (sent,) = provider.batches.values()
    first = next(iter(sent.results))
    sent.results[first] = succeeded(stop="max_tokens")
    provider.end()
    work(clock)
    decide()
    work(clock)
    again = list(provider.batches.values())[1]
    assert (len(again.results), again.bodies[0]["max_tokens"]) == (1, 400)
    provider.end()
    work(clock)
    assert states(batch) == {"succeeded": 5}


def test_an_item_that_expires_again_and_again_is_dead_in_the_end(clock, provider):
    batch = queued(1, mode="provider_batch")
    for _ in range(4):
        decide()
        work(clock)
        newest = list(provider.batches.values())[-1]
        newest.results = {custom_id: {"type": "expired"} for custom_id in newest.results}
        provider.end()
        work(clock)
    assert (states(batch), outcomes()) == ({"dead": 1}, ["expired"] * 4)


def test_results_that_break_off_are_read_anew_and_settled_once(clock, provider, batch, monkeypatch):
    monkeypatch.setattr(submissions, "GROUP", 2)
    work(clock)
    provider.end()
    provider.while_reading = httpx2.RemoteProtocolError("cut")
    work(clock)
    assert (only(batch).state, only(batch).unsettled) == (S.COLLECTING, 3)
    provider.while_reading = None
    work(clock)
    batch.refresh_from_db()
    assert (states(batch), Attempt.objects.count()) == ({"succeeded": 5}, 5)
    assert batch.cost == sum(Attempt.objects.values_list("cost", flat=True))


def test_a_process_that_lost_the_submission_settles_nothing(clock, provider, batch):
    work(clock)
    provider.end()
    clock.advance(600)
    reads = provider.results

    def taken_over(id):
        Submission.objects.update(owner="somebody else")
        yield from reads(id)

    provider.results = taken_over
    submissions.work_through()
    assert (states(batch), only(batch).owner) == ({"running": 5}, "somebody else")


def test_cancelling_stops_the_provider_and_keeps_what_had_succeeded(clock, provider, batch):
    work(clock)
    (sent,) = provider.batches.values()
    batch.cancel()
    work(clock)
    assert provider.cancelled == [sent.id]
    work(clock)
    assert provider.cancelled == [sent.id]
    for custom_id in list(sent.results)[2:]:
        sent.results[custom_id] = {"type": "canceled"}
    provider.end()
    work(clock)
    batch.refresh_from_db()
    assert (batch.state, states(batch)) == ("cancelled", {"succeeded": 2, "cancelled": 3})
    assert batch.cost > 0
    assert batch.ended == batch.total


def test_a_batch_cancelled_before_it_was_sent_never_is(clock, provider, batch):
    batch.cancel()
    work(clock)
    assert (provider.created, states(batch), only(batch).state) == (0, {"cancelled": 5}, S.ENDED)


def test_a_paused_batch_is_sent_when_it_goes_on(clock, provider, batch):
    batch.pause()
    assert (work(clock), provider.created) == (0, 0)
    batch.resume()
    work(clock)
    assert provider.created == 1


def test_what_the_provider_no_longer_knows_is_lost_after_its_day(clock, provider, batch):
    work(clock)
    provider.batches.clear()
    work(clock)
    assert states(batch) == {"running": 5}
    work(clock, LIFETIME.total_seconds())
    batch.refresh_from_db()
    assert (states(batch), outcomes()) == ({"waiting": 5}, [Outcome.LOST] * 5)
    assert batch.unknown_cost > 0


def test_a_lease_of_a_living_process_keeps_others_away(clock, provider, batch):
    Submission.objects.update(
        owner="elsewhere/1/x", lease_until=clock.now + timedelta(seconds=1_000)
    )
    assert work(clock, 20) == 0
    assert work(clock, 1_000) == 1


def test_looks_come_less_often_the_longer_it_takes(clock, provider, batch):
    work(clock)
    waits = []
    for _ in range(15):
        work(clock, 61)
        waits.append((only(batch).next_at - clock.now).total_seconds())
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (2, 60)


def test_a_body_is_written_as_the_provider_reads_it(tmp_path):
    with (tmp_path / "body").open("w+b") as file:
        assert write_body(file, [("a", {"x": "ü\u2028"}), ("b", {})]) == 2
        file.seek(0)
        assert json.loads(file.read()) == {
            "requests": [
                {"custom_id": "a", "params": {"x": "ü\u2028"}},
                {"custom_id": "b", "params": {}},
            ]
        }
