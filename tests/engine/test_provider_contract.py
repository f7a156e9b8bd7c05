"""The real SDK client against the simulator: each way in which a call can end, as one outcome."""

import asyncio
import json

import aiohttp
import pytest

from batchboard.pricing import Usage
from dispatch.outcome import Outcome
from dispatch.provider import ask, count_tokens, make_client
from dispatch.simulator import Options, serving

REQUEST = {
    "model": "claude-haiku-5-5",
    "max_tokens": 400,
    "messages": [{"role": "user", "content": "Scan the competitor"}],
}


@pytest.fixture
def talk(settings):
    """talk(scenario, **options) runs `scenario(client, served)` and returns its value."""

    def run(scenario, **options):
        async def whole():
            quick = {"latency": 0, "latency_sigma": 0, **options}
            async with serving(Options(**quick)) as served:
                settings.ANTHROPIC_BASE_URL = served.url
                async with make_client() as client:
                    return await scenario(client, served)

        return asyncio.run(whole())

    return run


def asking(seconds=5.0, on_begin=None, **changes):
    async def scenario(client, served):
        return await ask(client, REQUEST | changes, seconds, on_begin)

    return scenario


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("fault", "outcome", "status", "cost"),
    [
        (None, Outcome.OK, 200, "known"),
        ("400", Outcome.INVALID, 400, "nothing"),
        ("401", Outcome.UNAUTHORISED, 401, "nothing"),
        ("402", Outcome.SPEND_CAP, 402, "nothing"),
        ("403", Outcome.UNAUTHORISED, 403, "nothing"),
        ("404", Outcome.UNAUTHORISED, 404, "nothing"),
        ("429", Outcome.RATE_LIMITED, 429, "nothing"),
        ("ramp_limit", Outcome.RATE_LIMITED, 429, "nothing"),
        ("spend_limit", Outcome.SPEND_CAP, 429, "nothing"),
        ("500", Outcome.SERVER, 500, "nothing"),
        ("529", Outcome.OVERLOADED, 529, "nothing"),
        ("drop", Outcome.NETWORK, None, "unknown"),
        ("truncated", Outcome.TRUNCATED, 200, "known"),
        ("refusal", Outcome.REFUSED, 200, "known"),
    ],
)
def test_a_call_ends_as_one_outcome(talk, streamed, fault, outcome, status, cost):
    begun = []
    on_begin = (lambda: begun.append(1)) if streamed else None
    options = {"fail_containing": {"competitor": fault}} if fault else {}
    reply = talk(asking(on_begin=on_begin), **options)
    assert (reply.outcome, reply.status) == (outcome, status)
    assert bool(reply.problem) == (outcome is not Outcome.OK)
    assert bool(reply.request_id) == (status is not None)
    if cost == "known":
        assert reply.usage.input > 0
        assert reply.latency > 0
    else:
        assert reply.usage == {"nothing": Usage(), "unknown": None}[cost]
    assert begun == ([1] if streamed and status == 200 else [])


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_call_that_hangs_ends_at_its_own_timeout(talk, streamed):
    begun = []
    on_begin = (lambda: begun.append(1)) if streamed else None
    reply = talk(asking(0.3, on_begin), fail_containing={"competitor": "hang"})
    assert (reply.outcome, reply.usage, begun) == (Outcome.TIMEOUT, None, [])
    assert 0.3 <= reply.latency < 3
    assert reply.problem == "No answer within 0.3 s."


def test_a_rate_limit_says_how_long(talk):
    reply = talk(asking(), fail_containing={"competitor": "429"}, fault_retry_after=7.0, rpm=1_000)
    assert (reply.outcome, reply.retry_after) == (Outcome.RATE_LIMITED, 7)
    assert reply.told.exhausted is False
    assert reply.told.rpm == 1_000


def test_a_limit_that_is_used_up_says_so(talk):
    async def scenario(client, served):
        return [await ask(client, REQUEST, 5.0) for _ in range(2)]

    first, second = talk(scenario, rpm=1, burst_seconds=60.0)
    assert first.outcome is Outcome.OK
    assert (second.outcome, second.told.exhausted) == (Outcome.RATE_LIMITED, True)
    assert second.retry_after > 0


def test_a_stream_that_fails_in_the_middle_began_and_has_an_unknown_cost(talk):
    begun = []
    reply = talk(
        asking(on_begin=lambda: begun.append(1)), fail_containing={"competitor": "stream_error"}
    )
    assert (reply.outcome, reply.usage, begun) == (Outcome.OVERLOADED, None, [1])


def test_a_malformed_answer_comes_as_it_is(talk):
    """Whether it meets the contract is the mode's to say; it is paid all the same."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
              "additionalProperties": False}  # fmt: skip
    config = {"format": {"type": "json_schema", "schema": schema}}
    reply = talk(asking(output_config=config), fail_containing={"competitor": "malformed"})
    assert reply.outcome is Outcome.OK
    assert reply.usage.output > 0
    with pytest.raises(ValueError):
        json.loads(reply.text)


def test_a_stream_and_a_whole_answer_say_the_same(talk):
    async def scenario(client, served):
        whole = await ask(client, REQUEST, 5.0)
        return whole, await ask(client, REQUEST, 5.0, lambda: None)

    whole, streamed = talk(scenario)
    assert (whole.usage.input, whole.stop_reason) == (streamed.usage.input, streamed.stop_reason)
    assert streamed.text
    assert streamed.usage.output > 0


def test_a_stream_reads_what_the_call_before_it_wrote(talk):
    cached = [{"type": "text", "text": "Know this. " * 400,
               "cache_control": {"type": "ephemeral"}}]  # fmt: skip

    async def scenario(client, served):
        request = REQUEST | {"system": cached}
        prime = await ask(client, request, 5.0, lambda: None)
        return prime, await ask(client, request, 5.0)

    prime, following = talk(scenario)
    assert prime.usage.cache_write_5m > 512
    assert following.usage.cache_read == prime.usage.cache_write_5m
    assert (following.usage.cache_write_5m, prime.usage.cache_read) == (0, 0)


def test_nothing_is_tried_again_by_the_client(talk):
    async def scenario(client, served):
        await ask(client, REQUEST, 5.0)
        return served.provider.ledger.statistics()

    assert talk(scenario, fail_containing={"competitor": "529"})["requests"] == 1


def test_a_provider_that_is_not_there_costs_nothing(settings):
    settings.ANTHROPIC_BASE_URL = "http://127.0.0.1:9"

    async def scenario():
        async with make_client() as client:
            return await ask(client, REQUEST, 5.0)

    reply = asyncio.run(scenario())
    assert (reply.outcome, reply.usage) == (Outcome.NETWORK, Usage())


def test_the_provider_counts_tokens_without_a_bill(talk):
    async def scenario(client, served):
        return await count_tokens(client, REQUEST)

    assert talk(scenario) > 0


def test_a_client_keeps_as_many_calls_in_flight_as_it_is_given(talk):
    """Behind the client's own limit of connections they would hold slots and do nothing."""

    async def scenario(client, served):
        await asyncio.gather(*(ask(client, REQUEST, 10.0) for _ in range(300)))
        address = f"{served.url}/_simulator/statistics"
        async with aiohttp.ClientSession() as http, http.get(address) as answer:
            return (await answer.json())["peak_in_flight"]

    assert talk(scenario, latency=1.0) == 300
