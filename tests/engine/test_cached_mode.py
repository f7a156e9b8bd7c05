"""cached: one call writes the cache alone, and the rest begin when it can be read."""

from datetime import timedelta

import pytest

from batchboard.models import WarmCache
from batchboard.pricing import Usage
from dispatch import recorder
from dispatch.calls import Began
from dispatch.modes import MODES
from dispatch.modes.cached import LIFETIME_SECONDS, MARGIN_SECONDS, minimum_tokens
from dispatch.modes.work import Framing, ItemWork
from dispatch.outcome import Outcome
from dispatch.versions import work_of
from tests.factories import admit, draft, finished, live_worker, queued, task_version

pytestmark = pytest.mark.django_db

WROTE = Usage(input=30, output=20, cache_write_5m=1_000)
READ = Usage(input=30, output=20, cache_read=1_000)
FIVE_MINUTES = LIFETIME_SECONDS["5m"]


@pytest.fixture
def worker(clock):
    return live_worker()


@pytest.fixture
def version():
    return task_version(system="s" * 4_000, shared_tokens=1_000)


def settle(worker, events, *, admits=False):
    return recorder.settle(worker.pk, events, admits=admits).calls


def primes(calls):
    return [call.prime for call in calls]


def waits(batch):
    batch.refresh_from_db()
    return batch.waits_for


def test_the_first_call_goes_alone_until_its_answer_begins(worker, version):
    batch = queued(5, version=version, mode="cached")
    (prime,) = admit(worker).calls
    assert prime.prime
    assert admit(worker).calls == []
    assert waits(batch) == "cache"
    rest = settle(worker, [Began(prime)], admits=True)
    assert primes(rest) == [False] * 4
    settle(worker, [finished(prime, usage=WROTE), *(finished(c, usage=READ) for c in rest)])
    batch.refresh_from_db()
    assert (batch.state, batch.succeeded) == ("review", 5)
    assert (batch.cache_write_tokens, batch.cache_read_tokens) == (1_000, 4_000)


def test_a_short_answer_that_ends_before_it_was_seen_to_begin_frees_the_rest_too(worker, version):
    queued(5, version=version, mode="cached")
    (prime,) = admit(worker).calls
    rest = settle(worker, [finished(prime, usage=WROTE)], admits=True)
    assert primes(rest) == [False] * 4


@pytest.mark.parametrize("outcome", [Outcome.OVERLOADED, Outcome.INVALID, Outcome.TIMEOUT])
def test_where_the_first_call_fails_another_goes_alone(worker, version, outcome):
    queued(5, version=version, mode="cached")
    settle(worker, [finished(c, outcome, usage=None) for c in admit(worker).calls])
    assert primes(admit(worker).calls) == [True]
    assert admit(worker).calls == []


def test_batches_of_one_version_share_the_cache(worker, version):
    first = queued(3, version=version, mode="cached")
    second = queued(3, version=version, mode="cached")
    (prime,) = admit(worker).calls
    assert prime.batch == first.pk
    assert waits(second) == "cache"
    rest = settle(worker, [Began(prime)], admits=True)
    assert primes(rest) == [False] * 5


def test_versions_are_written_each_by_a_call_of_its_own(worker, version):
    other = task_version(system="t" * 4_000, shared_tokens=1_000)
    queued(3, version=version, mode="cached")
    queued(3, version=other, mode="cached")
    assert primes(admit(worker).calls) == [True, True]


def write(worker, version, **fields):
    """Have the cache written by the first call of a batch of two."""
    queued(2, version=version, mode="cached", **fields)
    (prime,) = admit(worker).calls
    rest = settle(worker, [finished(prime, usage=WROTE)], admits=True)
    settle(worker, [finished(c, usage=READ) for c in rest])


def test_a_warm_cache_is_not_written_again(worker, version, clock):
    write(worker, version)
    clock.advance(FIVE_MINUTES - MARGIN_SECONDS - 1)
    queued(3, version=version, mode="cached")
    assert primes(admit(worker).calls) == [False] * 3


def test_reading_keeps_it_warm_and_a_cold_one_is_written_anew(worker, version, clock):
    write(worker, version)
    for _ in range(3):
        clock.advance(200)
        queued(1, version=version, mode="cached")
        (call,) = admit(worker).calls
        assert not call.prime
        settle(worker, [finished(call, usage=READ)])
    clock.advance(FIVE_MINUTES - MARGIN_SECONDS)
    queued(3, version=version, mode="cached")
    assert primes(admit(worker).calls) == [True]


def test_the_life_of_an_entry_counts_from_its_reading_not_from_the_record(worker, version, clock):
    queued(2, version=version, mode="cached")
    (call,) = admit(worker).calls
    began = clock.now
    clock.advance(100)
    settle(worker, [finished(call, usage=WROTE, started_at=began)])
    warm = WarmCache.objects.get(version=version).warm_until
    assert (warm - began).total_seconds() == FIVE_MINUTES - MARGIN_SECONDS


def test_a_batch_of_one_call_writes_nothing_that_nobody_would_read(worker, version):
    queued(1, version=version, mode="cached")
    (call,) = admit(worker).calls
    assert (call.prime, call.cache) == (False, "")


def test_a_batch_of_one_call_reads_what_others_wrote(worker, version):
    write(worker, version)
    queued(1, version=version, mode="cached")
    (call,) = admit(worker).calls
    assert (call.prime, call.cache) == (False, "5m")


def test_batches_with_a_salt_of_their_own_share_no_cache(worker, version):
    write(worker, version)
    batch = draft(3, version=version, mode="cached")
    type(batch).objects.filter(pk=batch.pk).update(cache_salt="arm-2")
    batch.start()
    (prime,) = admit(worker).calls
    assert (prime.prime, prime.salt) == (True, "arm-2")


def test_an_entry_lives_an_hour_where_a_person_looks_before_the_run_goes_on(worker, version, clock):
    queued(4, version=version, mode="cached", first_look=True, concurrency=2)
    (prime,) = admit(worker).calls
    assert prime.cache == "1h"
    settle(worker, [finished(prime, usage=Usage(input=30, output=20, cache_write_1h=1_000))])
    assert WarmCache.objects.get().warm_until - clock.now > timedelta(minutes=50)


def test_an_entry_lives_an_hour_where_calls_are_far_apart(worker, version, settings):
    settings.DISPATCH_RPM, settings.DISPATCH_HEADROOM = 1, 0.2
    queued(4, version=version, mode="cached")
    assert [call.cache for call in admit(worker).calls] == ["1h"]


@pytest.mark.parametrize(
    ("fields", "mode"),
    [
        ({"system": "short", "shared_tokens": 511}, "cached"),
        ({"system": "never counted", "shared_tokens": None}, "cached"),
        ({"system": "", "shared_tokens": 5_000}, "cached"),
        ({"system": "s" * 4_000, "shared_tokens": 1_000}, "single"),
    ],
    ids=["below the minimum", "not counted", "nothing shared", "single"],
)
def test_where_nothing_is_cached_nothing_waits_and_nothing_is_marked(worker, fields, mode):
    version = task_version(**fields)
    queued(5, version=version, mode=mode)
    assert primes(admit(worker).calls) == [False] * 5
    request = MODES[mode].request(
        work_of(version.pk), [ItemWork("k", {"text": "x"})], 100, Framing()
    )
    assert isinstance(request.get("system", ""), str)


def test_the_shared_context_is_marked_and_the_item_is_not(version):
    request = MODES["cached"].request(
        work_of(version.pk), [ItemWork("k", {"text": "x"})], 100, Framing(cache="5m")
    )
    (block,) = request["system"]
    assert block["cache_control"] == {"type": "ephemeral"}
    assert request["messages"] == [{"role": "user", "content": "Look at x"}]


@pytest.mark.parametrize(
    ("model", "minimum"),
    [
        ("claude-haiku-5-5", 512),
        ("claude-haiku-4-5", 4096),
        ("claude-haiku-4-5-20251001", 4096),
        ("claude-sonnet-4-6", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-of-tomorrow", 4096),
    ],
)
def test_the_least_that_a_model_caches(model, minimum):
    assert minimum_tokens(model) == minimum
