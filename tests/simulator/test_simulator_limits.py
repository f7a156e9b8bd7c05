"""Rate limits and the spend limit."""

import asyncio

import anthropic
import pytest

from dispatch.simulator import Options
from dispatch.simulator.buckets import Bucket, ModelLimits
from dispatch.simulator.errors import ProviderError


def admitted(limits, seconds, tokens=0, step=0.01):
    count = 0
    for number in range(round(seconds / step)):
        try:
            limits.admit(tokens, number * step)
        except ProviderError:
            continue
        count += 1
    return count


@pytest.mark.parametrize(
    ("burst_seconds", "seconds", "at_most"),
    [(60, 30, 600 + 300), (1, 30, 10 + 300), (1, 1, 10 + 10)],
)
def test_never_more_requests_than_a_full_bucket_and_its_refill(burst_seconds, seconds, at_most):
    limits = ModelLimits(Options(rpm=600, burst_seconds=burst_seconds), 0)
    assert at_most - 2 <= admitted(limits, seconds) <= at_most


def test_never_more_input_than_a_full_bucket_and_its_refill():
    limits = ModelLimits(Options(itpm=6000, burst_seconds=1), 0)
    assert admitted(limits, 10, tokens=50) == (100 + 10 * 100) // 50 - 1


def test_a_refused_request_takes_nothing():
    limits = ModelLimits(Options(rpm=60, itpm=60, burst_seconds=10), 0)
    limits.admit(10, 0)
    for _ in range(5):
        with pytest.raises(ProviderError):
            limits.admit(10, 0)
    limits.admit(10, 10)


def test_a_request_larger_than_the_bucket_waits_for_a_full_one_and_leaves_a_debt():
    bucket = Bucket(60, 10, now=0)
    assert bucket.wait_for(25, 0) == 0
    bucket.take(25, 0)
    assert bucket.wait_for(25, 0) == 25
    assert bucket.level(5) == -10


@pytest.mark.parametrize(("missing", "retry_after"), [(1, 1), (10, 1), (11, 2), (95, 10)])
def test_retry_after_is_the_whole_seconds_until_it_fits(missing, retry_after):
    limits = ModelLimits(Options(itpm=600), 0)
    limits.admit(600, 0)
    with pytest.raises(ProviderError) as caught:
        limits.admit(missing, 0)
    assert caught.value.retry_after == retry_after
    limits.admit(missing, retry_after)


def test_output_is_taken_when_it_was_generated_and_blocks_while_used_up():
    limits = ModelLimits(Options(otpm=60, burst_seconds=60), 0)
    limits.admit(1, 0)
    limits.admit(1, 0)
    limits.generated(70, 0)
    with pytest.raises(ProviderError) as caught:
        limits.admit(1, 0)
    assert caught.value.retry_after == 10
    limits.admit(1, 10.1)


def test_an_exhausted_bucket_answers_429_with_retry_after_and_headers(talk, request_for):
    async def scenario(client, served):
        raw = await client.messages.with_raw_response.create(**request_for("one"))
        with pytest.raises(anthropic.RateLimitError) as caught:
            await client.messages.create(**request_for("two"))
        await client.messages.create(**request_for("three", model="claude-sonnet-5-5"))
        return raw.headers, caught.value.response.headers

    fine, refused = talk(scenario, rpm=1, itpm=100_000, otpm=50_000)
    assert (fine["anthropic-ratelimit-requests-limit"], refused["retry-after"]) == ("1", "60")
    assert refused["anthropic-ratelimit-requests-remaining"] == "0"
    assert fine["anthropic-ratelimit-requests-reset"].endswith("Z")
    assert int(fine["anthropic-ratelimit-input-tokens-remaining"]) < 100_000
    assert int(fine["anthropic-ratelimit-output-tokens-remaining"]) < 50_000
    assert fine["anthropic-ratelimit-tokens-limit"] == "150000"


def test_an_injected_429_shows_a_bucket_that_is_not_exhausted(talk, request_for):
    async def scenario(client, served):
        with pytest.raises(anthropic.RateLimitError) as caught:
            await client.messages.create(**request_for())
        return caught.value.response.headers

    headers = talk(scenario, rpm=100, rate_429=1.0, fault_retry_after=7)
    assert headers["retry-after"] == "7"
    assert headers["anthropic-ratelimit-requests-remaining"] == "99"


@pytest.mark.parametrize("options", [{}, {"rpm": 100, "limit_headers": False}])
def test_limit_headers_can_be_missing(talk, request_for, options):
    async def scenario(client, served):
        return (await client.messages.with_raw_response.create(**request_for())).headers

    assert not [name for name in talk(scenario, **options) if "ratelimit" in name]


def test_after_its_own_bill_passes_the_spend_limit_it_refuses_without_a_retry_time(
    talk, request_for
):
    async def scenario(client, served):
        await client.messages.create(**request_for("one"))
        with pytest.raises(anthropic.RateLimitError) as caught:
            await client.messages.create(**request_for("two"))
        return caught.value

    error = talk(scenario, spend_limit_usd=0.0000001)
    assert error.error_code == "enforced_spend_limit_reached"
    assert "retry-after" not in error.response.headers


def test_a_thousand_arrivals_at_once_pass_no_more_than_the_bucket(talk, request_for):
    async def scenario(client, served):
        async def one(number):
            try:
                await client.messages.create(**request_for(str(number)))
            except anthropic.RateLimitError:
                return 0
            return 1

        return sum(await asyncio.gather(*map(one, range(60))))

    assert 20 <= talk(scenario, rpm=20) <= 21
