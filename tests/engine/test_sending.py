"""The event loop fences itself, and says of every call how it ended and what it cost."""

import asyncio
import queue

import pytest

from batchboard.pricing import Usage
from dispatch.calls import Call, Part
from dispatch.lease import LeaseKeeper
from dispatch.modes.work import Framing, ItemWork, VersionWork
from dispatch.outcome import Outcome
from dispatch.sending import Sending
from tests.factories import reply

ANSWERED = Usage(input=50, output=20)


class Keeper(LeaseKeeper):
    """A lease that holds until the test ends it."""

    holds = True

    def __init__(self):
        super().__init__("worker", lambda _: None)

    def covers(self, worker):
        return self.holds


def ready(prompt="Look at {{ text }}"):
    call = Call(
        number=1, worker=1, batch=1, public_id="b_1", version=1, model="m", mode="single",
        max_tokens=9, timeout=60, rates=None, reserved=0, expected_input=0, expected_output=0,
        parts=[Part(1, 1, "k0", 9)],
    )  # fmt: skip
    work = VersionWork(1, "m", "", prompt, 9, None, None, 0)
    return call, work, [ItemWork("k0", {"text": "row"})], Framing()


@pytest.fixture
def events():
    return queue.SimpleQueue()


@pytest.fixture
def keeper():
    return Keeper()


@pytest.fixture
def sending(events, keeper, monkeypatch):
    monkeypatch.setattr("dispatch.sending.make_client", object)
    monkeypatch.setattr("dispatch.sending.FENCE_SECONDS", 0.05)
    sending = Sending(keeper, events.put)
    sending.start()
    yield sending
    sending.stop()


def answers(monkeypatch, with_what):
    async def ask(*_):
        return await with_what() if callable(with_what) else with_what

    monkeypatch.setattr("dispatch.sending.ask", ask)


def test_a_call_that_no_lease_covers_is_ended_without_asking_the_database(
    sending, events, keeper, monkeypatch
):
    answers(monkeypatch, lambda: asyncio.sleep(60))
    sending.begin([ready()])
    with pytest.raises(queue.Empty):
        events.get(timeout=0.3)
    assert sending.in_flight() == [1]
    keeper.holds = False
    ended = events.get(timeout=20)
    assert (ended.reply.outcome, ended.reply.usage) == (Outcome.LOST, None)
    assert sending.in_flight() == []


def test_a_call_that_came_too_late_is_not_sent_and_cost_nothing(
    sending, events, keeper, monkeypatch
):
    keeper.holds = False
    answers(monkeypatch, reply())
    sending.begin([ready()])
    ended = events.get(timeout=20)
    assert (ended.reply.outcome, ended.reply.usage) == (Outcome.LOST, Usage())


def test_a_request_that_cannot_be_made_was_not_sent_and_cost_nothing(sending, events, monkeypatch):
    answers(monkeypatch, reply())
    call, work, _, framing = ready()
    sending.begin([(call, work, [], framing)])
    ended = events.get(timeout=20)
    assert (ended.reply.outcome, ended.reply.usage) == (Outcome.UNKNOWN, Usage())


def test_an_answer_that_cannot_be_read_is_kept_and_paid(sending, events, monkeypatch):
    def fails(*_):
        raise RuntimeError("odd")

    monkeypatch.setattr("dispatch.modes.single.check", fails)
    answers(monkeypatch, reply(text="an answer", usage=ANSWERED))
    sending.begin([ready()])
    ended = events.get(timeout=20)
    assert (ended.reply.outcome, ended.reply.usage) == (Outcome.UNKNOWN, ANSWERED)
    assert [part.text for part in ended.parts] == ["an answer"]
