"""History: samples of what the installation did, for the plots."""

from datetime import timedelta

import pytest

from batchboard.models import Limits, Sample
from dispatch import history, pump
from dispatch.outcome import Outcome
from tests.factories import ANSWERED, MODEL, admit, finished, live_worker, queued

pytestmark = pytest.mark.django_db


def samples(seconds=10, model=""):
    return list(Sample.objects.filter(seconds=seconds, model=model).order_by("at"))


def settle(worker, calls, outcome=Outcome.OK):
    from dispatch import recorder

    recorder.settle(worker.pk, [finished(call, outcome) for call in calls], admits=False)


def test_the_pump_writes_a_sample_every_ten_seconds_and_no_more(clock, announced):
    for _ in range(25):
        pump.pump()
        clock.advance(1)
    assert [one.at.second for one in samples()] == [0, 10, 20]


def test_of_several_pumps_one_writes(clock, announced):
    first, second = Limits.objects.current(), Limits.objects.current()
    history.sample(first, 3, clock.now)
    clock.advance(1)
    history.sample(second, 3, clock.now)
    assert len(samples()) == 1


def test_what_ended_since_the_last_sample_is_counted_once(clock, announced):
    worker = live_worker()
    queued(6)
    pump.pump()
    calls = admit(worker).calls or []
    clock.advance(10)
    history.sample(Limits.objects.get(), len(calls), clock.now)
    clock.advance(5)
    from batchboard.models import Attempt

    Attempt.objects.update(started_at=clock.now)
    done = Attempt.objects.order_by("id")
    Attempt.objects.filter(pk__in=done.values_list("pk")[:4]).update(
        ended_at=clock.now, outcome="ok", input_tokens=ANSWERED.input,
        cache_write_5m_tokens=5, cache_read_tokens=1_000, output_tokens=ANSWERED.output, cost=1,
    )  # fmt: skip
    Attempt.objects.filter(pk=done[4].pk).update(ended_at=clock.now, outcome="rate_limited")
    clock.advance(5)
    history.sample(Limits.objects.get(), 1, clock.now)
    clock.advance(10)
    history.sample(Limits.objects.get(), 1, clock.now)
    (counted,) = samples(model=MODEL)
    assert (counted.requests, counted.limited) == (5, 1)
    assert (counted.input_tokens, counted.output_tokens) == (
        4 * (ANSWERED.input + 5), 4 * ANSWERED.output,
    )  # fmt: skip
    (long,) = samples(120, MODEL)
    assert long.requests == 5


def test_a_longer_sample_keeps_the_most_in_flight_and_the_least_cap(clock, announced):
    Limits.objects.current().change(concurrency=20)
    for in_flight, cap in ((3, 20), (9, 16), (5, 20)):
        Limits.objects.update(cap_factor=cap / 20)
        history.sample(Limits.objects.get(), in_flight, clock.now)
        clock.advance(10)
    (long,) = samples(900)
    assert (long.in_flight, long.cap) == (9, 16)


def test_old_samples_are_deleted(clock, announced):
    for seconds, days in ((10, 1), (120, 3), (900, 9), (900, 6)):
        Sample.objects.create(seconds=seconds, at=clock.now - timedelta(days=days))
    history.sample(Limits.objects.current(), 0, clock.now)
    assert Sample.objects.filter(at__lt=clock.now).count() == 1
