"""What the simulator tells about itself, clients that leave, and its command line."""

import argparse
import asyncio
import json
import signal
import subprocess
import sys
import urllib.request
from decimal import Decimal

import anthropic
import pytest
from aiohttp import ClientSession

from dispatch.simulator import Options, add_arguments, options_from


async def until(condition):
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def test_statistics_and_calls_tell_what_happened(talk, request_for):
    async def scenario(client, served):
        for text in ("one", "two", "two"):
            await client.messages.create(**request_for(text))
        with pytest.raises(anthropic.BadRequestError):
            await client.messages.create(**request_for("bad"))
        async with ClientSession(served.url) as session:
            statistics = await (await session.get("/_simulator/statistics")).json()
            lines = (await (await session.get("/_simulator/calls")).text()).splitlines()
            await session.post("/_simulator/reset")
            after = await (await session.get("/_simulator/statistics")).json()
        return statistics, list(map(json.loads, lines)), after

    statistics, calls, after = talk(scenario, fail_containing={"bad": "400"})
    assert statistics["by_status"] == {"200": 3, "400": 1}
    assert (statistics["requests"], statistics["in_flight"]) == (4, 0)
    assert (statistics["items"], statistics["answered_items"]) == (3, 2)
    assert statistics["calls_per_item_max"] == 2
    assert statistics["bill_usd"] == str(sum(Decimal(call["cost_usd"]) for call in calls))
    assert calls[1]["item"] == "3fc4ccfe745870e2"  # echo -n two | sha256sum | cut -c1-16
    assert all(call["started"] <= call["ended"] for call in calls)
    assert (after["requests"], after["bill_usd"]) == (0, "0")


def test_the_peak_is_the_most_that_were_in_flight_together(talk, request_for):
    async def scenario(client, served):
        calls = [client.messages.create(**request_for(str(number))) for number in range(7)]
        await asyncio.gather(*calls)
        return served.provider.ledger.statistics()

    statistics = talk(scenario, latency=0.2)
    assert (statistics["peak_in_flight"], statistics["in_flight"]) == (7, 0)


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_is_noticed_and_charged_in_full(talk, request_for, stream):
    async def scenario(client, served):
        ledger = served.provider.ledger
        call = asyncio.create_task(client.messages.create(**request_for(stream=stream)))
        await until(lambda: ledger.statistics()["in_flight"] == 1)
        await until(lambda: ledger.statistics()["items"] == 1)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await until(lambda: ledger.statistics()["in_flight"] == 0)
        (left,) = ledger.calls()
        return left

    left = talk(scenario, latency=30)
    assert (left["answered"], left["status"]) == (False, None)
    assert left["usage"]["output_tokens"] > 0
    assert Decimal(left["cost_usd"]) > 0


def test_a_hung_call_lasts_until_its_client_leaves_and_costs_nothing(talk, request_for):
    async def scenario(client, served):
        with pytest.raises(anthropic.APITimeoutError):
            await client.messages.create(**request_for(), timeout=0.2)
        await until(lambda: served.provider.ledger.statistics()["in_flight"] == 0)
        (hung,) = served.provider.ledger.calls()
        return hung

    hung = talk(scenario, rate_hang=1.0)
    assert (hung["fault"], hung["answered"], hung["cost_usd"]) == ("hang", False, "0")


def test_options_change_at_run_time_and_unknown_ones_are_refused(talk, request_for):
    async def scenario(client, served):
        async with ClientSession(served.url) as session:
            wrong = await session.patch("/_simulator/options", json={"rpn": 1})
            ill_typed = await session.patch("/_simulator/options", json={"rpm": "many"})
            right = await session.patch("/_simulator/options", json={"rate_500": 1.0})
            assert (wrong.status, ill_typed.status, right.status) == (400, 400, 200)
        with pytest.raises(anthropic.InternalServerError):
            await client.messages.create(**request_for())

    talk(scenario)


def test_the_command_line_has_an_argument_for_every_option():
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert options_from(parser.parse_args([])) == Options()
    limits = ["--rpm", "600", "--no-limit-headers", "--spend-limit-usd", "1.5"]
    given = [*limits, "--fail-containing", "a=b=hang", "--answer-containing", "hello={a=b}"]
    options = options_from(parser.parse_args(given))
    assert (options.rpm, options.limit_headers) == (600, False)
    assert options.spend_limit_usd == Decimal("1.5")
    assert options.fail_containing == {"a=b": "hang"}
    assert options.answer_containing == {"hello": "{a=b}"}


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_the_process_says_where_it_listens_and_ends_when_told(ending):
    command = [sys.executable, "-m", "dispatch.simulator", "--latency", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = json.loads(process.stdout.readline())["url"]
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(url + "/_simulator/statistics") as answer:
            assert json.load(answer)["requests"] == 0
        process.send_signal(ending)
        assert process.wait(timeout=5) == 0
