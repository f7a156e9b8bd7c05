"""Estimates, as tables of numbers worked out by hand."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchboard.estimate import Allowed, Work, estimate
from batchboard.money import units
from batchboard.pricing import Rates, Usage

RATES = Rates(input=10_000, output=50_000, cache_write_5m=12_500, cache_write_1h=20_000,
              cache_read=1_000)  # fmt: skip
WIDE = Allowed(cap=10, rpm=10**6, itpm=10**9, otpm=10**9)
MEASURED = {"tokens_per_byte": 0.25, "output_tokens": 100.0, "latency": 2.0}


def made(work, allowed=WIDE, overhead=1_000):
    return estimate(work, RATES, allowed, overhead)


def test_a_measured_pile_without_a_cache():
    # 10 items of 400 bytes = 100 tokens each, 200 shared: 300 in, 100 out.
    work = Work({400: 10}, shared_bytes=800, max_tokens=500, shared_tokens=200, **MEASURED)
    found = made(work)
    assert found.input_tokens == 10 * 300
    assert found.output_tokens == 1_000
    assert units(found.expected) == 10 * (300 * 10_000 + 100 * 50_000)
    # Each byte a token, 1,000 for the framing, and an answer as long as it may be.
    assert units(found.worst) == 10 * ((800 + 400 + 1_000) * 10_000 + 500 * 50_000)
    assert (found.seconds, found.binding_limit) == (2.0, "cap")


def test_a_cached_pile_pays_for_one_writing_and_reads_the_rest():
    work = Work({400: 10}, 8_000, 500, shared_tokens=2_000, cache="5m", mode="cached", **MEASURED)
    found = made(work)
    each = 100 * 10_000 + 100 * 50_000
    assert units(found.expected) == 10 * each + 2_000 * 12_500 + 9 * 2_000 * 1_000
    # All of it is written, every time.
    assert units(found.worst) == 10 * ((8_000 + 400 + 1_000) * 12_500 + 500 * 50_000)


def test_message_batches_take_the_providers_own_time_and_some_read_the_cache():
    work = Work(
        {400: 10}, 8_000, 500, shared_tokens=2_000, cache="1h", mode="provider_batch",
        tokens_per_byte=0.25, output_tokens=100.0,
    )  # fmt: skip
    found = made(work)
    each = 100 * 10_000 + 100 * 50_000
    assert units(found.expected) == 10 * each + 4 * 2_000 * 20_000 + 6 * 2_000 * 1_000
    assert (found.seconds, found.binding_limit) == (3_600, "provider")
    assert "half the price" in found.basis
    assert "up to 24 h" in found.basis
    poor = Allowed(10, 1, 1, 1, Decimal("0.01"))
    assert (made(work, poor).seconds, made(work, poor).binding_limit) == (3_600, "money")


def test_nothing_measured_is_said_so():
    found = made(Work({100: 2}, 0, 1_000))
    assert found.output_tokens == 2 * 400
    assert found.basis == "input estimated from length; output assumed at 40% of max_tokens"
    assert "as this task type measured" in made(Work({1: 1}, 0, 1, **MEASURED)).basis


@pytest.mark.parametrize(
    ("allowed", "seconds", "binds"),
    [
        (Allowed(10, 10**6, 10**9, 10**9), 20.0, "cap"),  # 100 calls of 2 s, ten at once
        (Allowed(10, 60, 10**9, 10**9), 102.0, "rpm"),  # one a second, and the last one's 2 s
        (Allowed(10, 10**6, 6_000, 10**9), 302.0, "itpm"),  # 30,000 tokens at 100 a second
        (Allowed(10, 10**6, 10**9, 3_000), 202.0, "otpm"),  # 10,000 tokens at 50 a second
        (Allowed(10, 10**6, 10**9, 10**9, Decimal("0.05")), 20.0, "money"),
        (Allowed(1_000, 10**6, 10**9, 10**9), 2.0, "cap"),  # no more at once than there are
    ],
)
def test_the_limit_that_binds(allowed, seconds, binds):
    work = Work({400: 100}, 800, 500, shared_tokens=200, **MEASURED)
    found = made(work, allowed)
    assert (found.seconds, found.binding_limit) == (seconds, binds)


@pytest.mark.parametrize(
    ("rpm", "recommended"),
    [(600, 14), (60, 1), (10, 1), (6_000, 100)],  # 70 % of rpm / 60 × 2 s, from 1 to the cap
)
def test_the_recommended_number_in_flight(rpm, recommended):
    work = Work({400: 500}, 800, 500, shared_tokens=200, **MEASURED)
    allowed = Allowed(100, rpm, 10**9, 10**9)
    assert made(work, allowed).recommended_concurrency == recommended


def test_an_empty_pile_costs_nothing():
    found = made(Work({}, 800, 500, cache="5m", mode="cached"))
    assert (found.expected, found.worst, found.recommended_concurrency) == (0, 0, 1)


@given(
    size=st.integers(0, 5_000),
    shared=st.integers(0, 5_000),
    used=st.tuples(*[st.floats(0, 1)] * 3),
    caches=st.booleans(),
)
def test_the_worst_case_is_never_below_a_possible_bill(size, shared, used, caches):
    """A prompt has at most a token a byte and the framing; what is cached varies."""
    worst = units(made(Work({size: 1}, shared, 300, cache="5m" if caches else "")).worst)
    prompt = round((size + shared + 1_000) * used[0])
    cached = round(prompt * used[1]) if caches else 0
    usage = Usage(input=prompt - cached, output=round(300 * used[2]), cache_write_5m=cached)
    assert RATES.cost(usage) <= worst
