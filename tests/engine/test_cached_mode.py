"""cached: one call writes the cache alone, and the rest begin when it can be read."""

import pytest

from batchboard.models import TaskVersion
from batchboard.pricing import Usage
from dispatch import recorder
from dispatch.calls import Began
from dispatch.modes import MODES
from dispatch.modes.cached import LIFETIME_SECONDS, MARGIN_SECONDS, minimum_tokens
from dispatch.modes.work import ItemWork
from dispatch.outcome import Outcome
from dispatch.versions import work_of
from tests.factories import admit, finished, live_worker, queued, task_version

pytestmark = pytest.mark.django_db

WROTE = Usage(input=30, output=20, cache_write_5m=1_000)
READ = Usage(input=30, output=20, cache_read=1_000)


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


def test_a_warm_cache_is_not_written_again(worker, version, clock):
    queued(1, version=version, mode="cached")
    settle(worker, [finished(c, usage=WROTE) for c in admit(worker).calls])
    clock.advance(LIFETIME_SECONDS - MARGIN_SECONDS - 1)
    queued(3, version=version, mode="cached")
    assert primes(admit(worker).calls) == [False] * 3


def test_reading_keeps_it_warm_and_a_cold_one_is_written_anew(worker, version, clock):
    queued(1, version=version, mode="cached")
    settle(worker, [finished(c, usage=WROTE) for c in admit(worker).calls])
    for _ in range(3):
        clock.advance(200)
        queued(1, version=version, mode="cached")
        (call,) = admit(worker).calls
        assert not call.prime
        settle(worker, [finished(call, usage=READ)])
    clock.advance(LIFETIME_SECONDS - MARGIN_SECONDS)
    queued(3, version=version, mode="cached")
    assert primes(admit(worker).calls) == [True]


def test_the_life_of_an_entry_counts_from_its_reading_not_from_the_record(worker, version, clock):
    queued(1, version=version, mode="cached")
    (call,) = admit(worker).calls
    began = clock.now
    clock.advance(100)
    settle(worker, [finished(call, usage=WROTE, started_at=began)])
    warm = TaskVersion.objects.get(pk=version.pk).cache_warm_until
    assert (warm - began).total_seconds() == LIFETIME_SECONDS - MARGIN_SECONDS


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
    request = MODES[mode].request(work_of(version.pk), [ItemWork("k", {"text": "x"})], 100)
    assert isinstance(request.get("system", ""), str)


def test_the_shared_context_is_marked_and_the_item_is_not(version):
    request = MODES["cached"].request(work_of(version.pk), [ItemWork("k", {"text": "x"})], 100)
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
