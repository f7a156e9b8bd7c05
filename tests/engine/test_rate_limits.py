"""The model's token buckets, the pause that all its batches share, and the adaptive cap."""

from datetime import timedelta

import pytest

from batchboard.models import Event, Limits, ModelLimit
from dispatch import adaptive, recorder
from dispatch.calls import Told
from dispatch.outcome import Outcome
from dispatch.provider_identity import provider_now
from tests.factories import ANSWERED, MODEL, admit, finished, live_worker, queued, task_version

pytestmark = pytest.mark.django_db

OTHER_MODEL = "claude-sonnet-5-5"


@pytest.fixture
def worker(clock):
    return live_worker()


@pytest.fixture(autouse=True)
def configure(settings):
    """configure(RPM=600) sets limits of the environment; the cap is wide, the headroom whole."""

    def change(**values):
        for name, value in values.items():
            setattr(settings, f"DISPATCH_{name}", value)

    change(CONCURRENCY=100, HEADROOM=1.0)
    return change


def settle(worker, calls, outcome=Outcome.OK, **fields):
    recorder.settle(worker.pk, [finished(c, outcome, **fields) for c in calls], admits=False)


def waits(batch):
    batch.refresh_from_db()
    return batch.waits_for


# Buckets


def test_a_full_bucket_is_a_burst_and_then_it_refills_evenly(worker, clock, configure):
    configure(RPM=600)  # ten a second; the bucket holds half a second
    batch = queued(40)
    admission = admit(worker)
    assert len(admission.calls) == 5
    assert admission.retry_in == pytest.approx(0.1)
    assert waits(batch) == "rpm"
    for seconds, more in [(0.05, 0), (0.05, 1), (0.3, 3), (100, 5)]:
        clock.advance(seconds)
        assert len(admit(worker).calls) == more


def test_over_a_minute_no_more_than_the_limit_and_a_burst(worker, clock, configure):
    configure(RPM=60)
    queued(200)
    sent = 0
    for _ in range(600):
        calls = admit(worker).calls
        sent += len(calls)
        settle(worker, calls)
        clock.advance(0.1)
    assert 58 <= sent <= 61


def test_headroom_is_left_unused(worker, configure):
    configure(RPM=600, HEADROOM=0.4)
    queued(40)
    assert len(admit(worker).calls) == 2


def test_the_lower_of_our_limit_and_the_providers_holds(worker, clock, configure):
    configure(RPM=600)
    queued(40)
    calls = admit(worker).calls
    settle(worker, calls, told=Told(rpm=120))
    clock.advance(10)
    assert len(admit(worker).calls) == 1
    ModelLimit.objects.update(told_rpm=10_000)
    clock.advance(10)
    assert len(admit(worker).calls) == 5


def test_what_another_provider_said_is_forgotten(worker, configure, settings):
    """From the simulator to the real one, or from one key to another."""
    configure(RPM=600)
    queued(9)
    settle(worker, admit(worker).calls, told=Told(rpm=50, itpm=9_000))
    first = ModelLimit.objects.get(pk=MODEL)
    assert (first.told_rpm, first.told_itpm) == (50, 9_000)

    ModelLimit.objects.forget_told_by_others(provider_now())
    assert ModelLimit.objects.get(pk=MODEL).told_rpm == 50, "the same provider is believed on"

    settings.ANTHROPIC_API_KEY = "sk-another"
    ModelLimit.objects.forget_told_by_others(provider_now())
    forgotten = ModelLimit.objects.get(pk=MODEL)
    assert (forgotten.told_rpm, forgotten.told_itpm, forgotten.told_by) == (None, None, "")


def test_the_first_word_of_another_provider_replaces_all_that_the_last_one_said(
    worker, clock, configure, settings
):
    configure(RPM=600)
    queued(40)
    settle(worker, admit(worker).calls, told=Told(rpm=50, itpm=9_000))
    settings.ANTHROPIC_BASE_URL = "https://provider.example"
    clock.advance(60)
    calls = admit(worker).calls
    settle(worker, calls, told=Told())
    assert ModelLimit.objects.get(pk=MODEL).told_rpm == 50, "an answer without headers says nothing"
    clock.advance(60)
    settle(worker, admit(worker).calls, told=Told(rpm=300))
    now = ModelLimit.objects.get(pk=MODEL)
    assert (now.told_rpm, now.told_itpm) == (300, None)


def test_neither_address_nor_key_is_stored(settings):
    settings.ANTHROPIC_BASE_URL, settings.ANTHROPIC_API_KEY = "https://u:secret@p.example", "sk-x1"
    told = provider_now()
    assert "secret" not in told
    assert "sk-x1" not in told
    settings.ANTHROPIC_API_KEY = "sk-x2"
    assert provider_now() != told


@pytest.mark.parametrize(("limit", "waits_for"), [("ITPM", "itpm"), ("OTPM", "otpm")])
def test_tokens_run_out_as_requests_do(worker, configure, limit, waits_for):
    # A call of 30 bytes is taken for 12 tokens in, and half of 200 for its answer.
    configure(**{limit: 60_000 if limit == "OTPM" else 7_200})
    batch = queued(40)
    assert len(admit(worker).calls) == 5
    assert waits(batch) == waits_for


def test_a_call_larger_than_the_bucket_goes_when_it_is_full_and_leaves_a_debt(
    worker, clock, configure
):
    configure(ITPM=600)  # ten a second, five in the bucket; a call needs twelve
    queued(5)
    admission = admit(worker)
    assert len(admission.calls) == 1
    assert ModelLimit.objects.get(pk=MODEL).input_tokens == pytest.approx(-7)
    assert admission.retry_in == pytest.approx(1.2)
    clock.advance(1.1)
    assert admit(worker).calls == []
    clock.advance(0.1)
    assert len(admit(worker).calls) == 1


def test_what_was_not_used_is_given_back_and_what_was_used_beyond_is_taken(worker, configure):
    configure(ITPM=60_000, OTPM=60_000)
    queued(1)
    (call,) = admit(worker).calls
    assert (call.expected_input, call.expected_output) == (12, 100)
    settle(worker, [call], usage=ANSWERED)  # 50 in, 20 out
    bucket = ModelLimit.objects.get(pk=MODEL)
    assert bucket.input_tokens == pytest.approx(500 - 50)
    assert bucket.output_tokens == pytest.approx(500 - 20)
    assert bucket.generated == pytest.approx(1_000 - 20)
    assert bucket.requests == pytest.approx(10**9 / 120 - 1)


def test_while_the_providers_own_bucket_may_be_empty_nothing_is_sent(worker, clock, configure):
    configure(OTPM=60_000)
    batch = queued(40)
    ModelLimit.objects.create(model=MODEL, generated=-150, level_at=clock.now)
    admission = admit(worker)
    assert admission.calls == []
    assert admission.retry_in == pytest.approx(0.5)  # from -150 to 350 at 1,000 a second
    assert waits(batch) == "otpm"
    clock.advance(0.5)
    assert len(admit(worker).calls) > 0


def test_models_have_buckets_of_their_own(worker, configure):
    configure(RPM=600)
    queued(40)
    queued(40, version=task_version(OTHER_MODEL))
    calls = admit(worker).calls
    assert [sum(call.model == model for call in calls) for model in (MODEL, OTHER_MODEL)] == [5, 5]


def test_a_clock_that_goes_back_fills_nothing_and_stops_nothing(worker, clock, configure):
    configure(RPM=600)
    queued(40)
    admit(worker)
    clock.advance(-3600)
    assert admit(worker).calls == []
    clock.advance(1)
    assert len(admit(worker).calls) == 5


def test_a_pause_is_no_longer_for_a_clock_that_goes_back(worker, clock):
    queued(5)
    settle(worker, admit(worker, 1).calls, Outcome.RATE_LIMITED, retry_after=4)
    clock.advance(-3600)
    assert admit(worker).calls == []
    clock.advance(4.5)
    assert admit(worker).calls


# The shared pause


def test_a_rate_limit_stops_every_batch_on_its_model_and_no_other(worker, clock):
    first, second = queued(5, concurrency=1), queued(5, concurrency=1)
    other = queued(5, version=task_version(OTHER_MODEL), concurrency=1)
    calls = admit(worker).calls
    settle(worker, calls[:1], Outcome.RATE_LIMITED, retry_after=5)
    settle(worker, calls[1:])
    Limits.objects.update(cap_factor=1)
    admission = admit(worker)
    assert [call.batch for call in admission.calls] == [other.pk]
    assert admission.retry_in == pytest.approx(5)
    assert (waits(first), waits(second)) == ("provider_pause", "provider_pause")
    assert second.waits_until == clock.now + timedelta(seconds=5)
    clock.advance(4.9)
    assert admit(worker).calls == []
    clock.advance(0.1)
    assert {call.batch for call in admit(worker).calls} == {first.pk, second.pk}


def test_a_rate_limited_item_waits_without_losing_a_try(worker, clock):
    batch = queued(1)
    for outcome in [Outcome.SERVER, Outcome.RATE_LIMITED, Outcome.RATE_LIMITED, Outcome.SERVER]:
        (call,) = admit(worker).calls
        settle(worker, [call], outcome, retry_after=1)
        clock.advance(5)
    assert batch.items.get().state == "waiting"
    settle(worker, admit(worker).calls)
    batch.refresh_from_db()
    assert batch.succeeded == 1


@pytest.mark.parametrize(("says", "seconds"), [(None, adaptive.PAUSE_SECONDS), (0, 0), (7, 7)])
def test_the_pause_is_as_long_as_the_provider_says(worker, clock, says, seconds):
    queued(5)
    settle(worker, admit(worker).calls[:1], Outcome.RATE_LIMITED, retry_after=says)
    paused = ModelLimit.objects.get(pk=MODEL).paused_until
    assert paused == clock.now + timedelta(seconds=seconds)


@pytest.mark.parametrize(("says", "seconds"), [(None, adaptive.PAUSE_SECONDS), (4, 4)])
def test_a_limit_that_is_not_ours_keeps_its_own_item_back(worker, clock, says, seconds):
    batch = queued(3)
    told = Told(exhausted=False)
    settle(worker, admit(worker, 1).calls, Outcome.RATE_LIMITED, told=told, retry_after=says)
    assert [call.parts[0].key for call in admit(worker).calls] == ["k1", "k2"]
    assert batch.items.get(key="k0").due_at == clock.now + timedelta(seconds=seconds)
    clock.advance(seconds)
    assert [call.parts[0].key for call in admit(worker).calls] == ["k0"]


def test_a_shorter_pause_does_not_end_a_longer_one(worker, clock):
    queued(5)
    calls = admit(worker).calls
    settle(worker, calls[:1], Outcome.RATE_LIMITED, retry_after=30)
    settle(worker, calls[1:2], Outcome.RATE_LIMITED, retry_after=1)
    clock.advance(5)
    assert admit(worker).calls == []


def test_after_a_pause_the_bucket_starts_empty(worker, clock, configure):
    configure(RPM=600)
    queued(40)
    settle(worker, admit(worker, 2).calls[:1], Outcome.RATE_LIMITED, retry_after=0)
    Limits.objects.update(cap_factor=1)
    assert admit(worker).calls == []
    clock.advance(0.2)
    assert len(admit(worker).calls) == 2


# The adaptive cap


def in_force():
    return Limits.objects.get().cap_in_force


@pytest.mark.parametrize(
    ("cap", "after"), [(100, 80), (10, 8), (5, 4), (4, 3), (3, 2), (2, 1), (1, 1)]
)
def test_a_rate_limit_cuts_the_cap_by_a_fifth(worker, configure, cap, after):
    configure(CONCURRENCY=cap)
    queued(cap + 5)
    settle(worker, admit(worker).calls[:1], Outcome.RATE_LIMITED)
    assert in_force() == after
    event = Event.objects.get(verb="limits.cut")
    assert (event.detail["before"], event.detail["after"]) == (cap, after)


def test_one_episode_is_one_cut(worker, clock, configure):
    configure(CONCURRENCY=10)
    queued(40)
    calls = admit(worker).calls
    clock.advance(1)
    settle(worker, calls[:4], Outcome.RATE_LIMITED, started_at=clock.now - timedelta(seconds=1))
    settle(worker, calls[4:8], Outcome.RATE_LIMITED, started_at=clock.now - timedelta(seconds=1))
    assert in_force() == 8
    assert Event.objects.filter(verb="limits.cut").count() == 1
    clock.advance(2)
    again = admit(worker).calls
    settle(worker, again[:3], Outcome.RATE_LIMITED, started_at=clock.now)
    assert in_force() < 8
    assert Event.objects.filter(verb="limits.cut").count() == 2


def test_the_cut_starts_from_what_was_in_flight(worker, configure):
    configure(CONCURRENCY=100)
    queued(10)
    settle(worker, admit(worker).calls[:1], Outcome.RATE_LIMITED)
    assert in_force() == 8


@pytest.mark.parametrize(("exhausted", "cap"), [(True, 8), (None, 8), (False, 10)])
def test_a_limit_that_is_not_used_up_is_no_reason_to_send_less(worker, configure, exhausted, cap):
    configure(CONCURRENCY=10)
    queued(20)
    told = Told(exhausted=exhausted)
    settle(worker, admit(worker).calls[:1], Outcome.RATE_LIMITED, told=told, retry_after=3)
    assert in_force() == cap
    waits = bool(admit(worker).calls == [])
    assert waits == (exhausted is not False), "only a limit that is used up stops the others"


@pytest.mark.parametrize("outcome", [Outcome.OVERLOADED, Outcome.SERVER, Outcome.NETWORK])
def test_what_is_not_our_rate_never_cuts(worker, configure, outcome):
    configure(CONCURRENCY=10)
    queued(20)
    settle(worker, admit(worker).calls, outcome)
    assert in_force() == 10


@pytest.mark.parametrize(
    ("clean", "used", "grows"),
    [
        (8 * 8, 8, True),
        (8 * 8 - 1, 8, False),  # a round is missing
        (8 * 8, 7, False),  # the cap was not used
    ],
)
def test_the_cap_grows_after_clean_rounds_that_used_it(configure, clean, used, grows):
    configure(CONCURRENCY=10)
    limits = Limits(cap_factor=0.8, clean_calls=clean)
    adaptive.grow(limits, used)
    assert limits.cap_in_force == (9 if grows else 8)
    assert limits.clean_calls == (0 if grows else clean)


def test_the_cap_grows_back_to_the_configured_one_and_no_further(configure):
    configure(CONCURRENCY=10)
    limits = Limits(cap_factor=0.15)
    steps = 0
    while limits.cap_factor < 1:
        limits.clean_calls = 1_000
        adaptive.grow(limits, 100)
        steps += 1
        assert steps < 50
    assert (limits.cap_in_force, limits.cap_reason) == (10, "")
    limits.clean_calls = 1_000
    adaptive.grow(limits, 100)
    assert limits.cap_in_force == 10


@pytest.mark.parametrize("outcome", [Outcome.OVERLOADED, Outcome.SERVER, Outcome.RATE_LIMITED])
def test_trouble_starts_the_clean_rounds_anew(worker, outcome):
    queued(10)
    calls = admit(worker).calls
    settle(worker, calls[:5])
    assert Limits.objects.get().clean_calls == 5
    settle(worker, calls[5:6], outcome)
    assert Limits.objects.get().clean_calls == 0
