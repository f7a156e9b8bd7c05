"""Message batches over HTTP: the SDK's client against the simulator, and a whole run of them."""

import asyncio
import io
import threading
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from batchboard.models import Attempt, Submission
from batchboard.states import SubmissionState
from dispatch import submissions
from dispatch.message_batches import (
    MessageBatches,
    failures,
    never_sent,
    read_result,
    write_body,
)
from dispatch.outcome import Outcome
from dispatch.provider import reply_to
from dispatch.simulator import Options, serving
from tests.engine.test_submitting import decide
from tests.factories import queued, states, task_version


@pytest.fixture
def provider(settings):
    """start(**options) serves a simulator from a thread, and returns what it holds."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    opened = []

    def start(**options):
        context = serving(
            Options(**{"latency": 0, "latency_sigma": 0, "batch_seconds": 0} | options)
        )
        served = asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result(60)
        opened.append(context)
        settings.ANTHROPIC_BASE_URL = served.url
        settings.ANTHROPIC_API_KEY = "key"
        return served.provider

    yield start
    for context in opened:
        end = context.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(end, loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def body(*texts):
    file = io.BytesIO()
    requests = [
        (
            f"s_1-{number}",
            {
                "model": "claude-haiku-5-5",
                "max_tokens": 50,
                "messages": [{"role": "user", "content": text}],
            },
        )
        for number, text in enumerate(texts)
    ]
    write_body(file, requests)
    file.seek(0)
    return file


def ended(batches, id):
    for _ in range(600):
        seen = batches.look_at(id)
        if seen.ended_at is not None:
            return seen
        threading.Event().wait(0.05)
    raise AssertionError("it did not end")


def test_what_is_created_is_listed_and_its_results_are_read_by_line_feeds_alone(provider):
    provider(answer_containing={"odd": "one\u2028two\x85three"})
    before = timezone.now()
    with MessageBatches() as batches:
        created = batches.create(body("odd", "second"), 30)
        assert created.requests == 2
        assert [one.id for one in batches.created_since(before - timedelta(seconds=5))] == [
            created.id
        ]
        assert list(batches.created_since(timezone.now() + timedelta(seconds=5))) == []
        ended(batches, created.id)
        results = dict(batches.results(created.id))
    assert sorted(results) == ["s_1-0", "s_1-1"]
    reply = read_result(results["s_1-0"], cancelled=False)
    assert (reply.outcome, reply.text) == (Outcome.OK, "one\u2028two\x85three")


def test_a_cancelled_one_ends_with_what_it_had_not_reached_as_canceled(provider):
    provider(batch_seconds=600)
    with MessageBatches() as batches:
        created = batches.create(body("one"), 30)
        batches.cancel(created.id)
        ended(batches, created.id)
        ((_, result),) = batches.results(created.id)
    assert read_result(result, cancelled=True).outcome is Outcome.CANCELLED
    assert read_result(result, cancelled=False).outcome is Outcome.EXPIRED


def test_errors_are_told_apart(provider, settings):
    provider()
    with MessageBatches() as batches:
        with pytest.raises(failures()) as invalid:
            batches.create(io.BytesIO(b'{"requests":[]}'), 30)
        with pytest.raises(failures()) as unknown:
            batches.look_at("msgbatch_none")
    settings.ANTHROPIC_BASE_URL = "http://127.0.0.1:9"
    with MessageBatches() as batches, pytest.raises(failures()) as refused:
        batches.create(body("one"), 5)
    assert reply_to(invalid.value).outcome is Outcome.INVALID
    assert unknown.value.status_code == 404
    assert [never_sent(one.value) for one in (invalid, unknown, refused)] == [False, False, True]


def test_an_answer_that_does_not_come_in_time_may_have_been_created(provider):
    held = provider(batch_answer_seconds=30)
    with MessageBatches() as batches, pytest.raises(failures()) as late:
        batches.create(body("one"), 1)
    assert not never_sent(late.value)
    assert held.ledger.statistics()["message_batches"] == 1


@pytest.mark.django_db
def test_a_whole_run_costs_what_the_provider_bills(provider, announced):
    held = provider(fail_containing={"row 3": "500"}, seed=1)
    version = task_version(system="s" * 4_000, shared_tokens=1_000)
    batch = queued(8, version=version, mode="provider_batch")
    decide()
    for _ in range(200):
        Submission.objects.update(next_at=None)
        submissions.work_through()
        if Submission.objects.get().state == SubmissionState.ENDED:
            break
        threading.Event().wait(0.05)
    batch.refresh_from_db()
    assert states(batch) == {"succeeded": 7, "waiting": 1}
    assert batch.cost == Decimal(held.ledger.statistics()["bill_usd"]) > 0
    assert batch.cache_write_tokens + batch.cache_read_tokens > 0
    assert Attempt.objects.get(outcome="server").cost == 0
