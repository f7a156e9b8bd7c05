"""What the SDK's exceptions and the provider's messages mean: closed outcomes, known costs."""

import json
from itertools import pairwise

import aiohttp
import anthropic
import httpx2
import pytest
from aiohttp.client_reqrep import ConnectionKey

from batchboard.pricing import Usage
from dispatch.calls import Told
from dispatch.outcome import Outcome
from dispatch.provider import read_message, reply_to

O = Outcome  # noqa: E741 - the table reads better
REQUEST = httpx2.Request("POST", "http://provider/v1/messages")
CLIENT = anthropic.AsyncAnthropic(api_key="key", base_url="http://provider")
LIMITS = {
    "anthropic-ratelimit-requests-limit": "1000",
    "anthropic-ratelimit-requests-remaining": "500",
    "anthropic-ratelimit-input-tokens-limit": "20000",
    "anthropic-ratelimit-input-tokens-remaining": "20000",
}


def status_error(status, kind="api_error", message="It failed.", headers=(), **details):
    """The exception that the SDK itself makes of an error answer."""
    body = {"type": "error", "error": {"type": kind, "message": message, **details}}
    response = httpx2.Response(
        status, headers={"request-id": "req_9", **dict(headers)}, content=json.dumps(body),
        request=REQUEST,
    )  # fmt: skip
    return CLIENT._make_status_error_from_response(response)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (status_error(400, "invalid_request_error"), O.INVALID),
        (status_error(400, message="You have reached your API usage limits."), O.SPEND_CAP),
        (status_error(401, "authentication_error"), O.UNAUTHORISED),
        (status_error(402, "billing_error"), O.SPEND_CAP),
        (status_error(403, "permission_error"), O.UNAUTHORISED),
        (status_error(404, "not_found_error"), O.UNAUTHORISED),
        (status_error(408), O.SERVER),
        (status_error(409), O.SERVER),
        (status_error(413, "request_too_large"), O.INVALID),
        (status_error(422), O.INVALID),
        (status_error(429, "rate_limit_error"), O.RATE_LIMITED),
        (
            status_error(
                429, "rate_limit_error", details={"error_code": "ramp_limit_exceeded"}
            ),
            O.RATE_LIMITED,
        ),
        (
            status_error(
                429, "rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}
            ),
            O.SPEND_CAP,
        ),
        (
            status_error(
                429, "rate_limit_error", details={"error_code": "contract_spend_limit_reached"}
            ),
            O.SPEND_CAP,
        ),
        (status_error(500), O.SERVER),
        (status_error(502), O.SERVER),
        (status_error(504, "timeout_error"), O.SERVER),
        (status_error(529, "overloaded_error"), O.OVERLOADED),
    ],
    ids=lambda value: getattr(value, "message", value),
)  # fmt: skip
def test_an_error_answer_is_its_outcome_and_costs_nothing(error, outcome):
    reply = reply_to(error)
    assert (reply.outcome, reply.usage, reply.status) == (outcome, Usage(), error.status_code)
    assert reply.request_id == "req_9"
    assert reply.problem.startswith(f"{error.status_code}: ")


@pytest.mark.parametrize(
    ("kind", "outcome"), [("overloaded_error", O.OVERLOADED), ("api_error", O.SERVER)]
)
def test_an_error_in_the_middle_of_a_stream_has_an_unknown_cost(kind, outcome):
    body = {"type": "error", "error": {"type": kind, "message": "Overloaded"}}
    response = httpx2.Response(200, headers={"request-id": "req_9"}, request=REQUEST)
    error = anthropic.APIStatusError("Overloaded", response=response, body=body)
    reply = reply_to(error)
    assert (reply.outcome, reply.usage, reply.status) == (outcome, None, 200)


def caused(*causes):
    """A connection error of the SDK, raised from each of the `causes` in turn."""
    error = anthropic.APIConnectionError(request=REQUEST)
    chain = [error, *causes]
    for effect, cause in pairwise(chain):
        effect.__cause__ = cause
    return error


def unreachable():
    key = ConnectionKey("provider", 443, True, True, None, None, None)
    return aiohttp.ClientConnectorError(key, OSError(111, "refused"))


@pytest.mark.parametrize(
    ("error", "outcome", "usage"),
    [
        (anthropic.APITimeoutError(request=REQUEST), O.TIMEOUT, None),
        (anthropic.APIConnectionError(request=REQUEST), O.NETWORK, None),
        (caused(httpx2.ConnectError("refused"), unreachable()), O.NETWORK, Usage()),
        # The transport gives the same name to a connection that broke after the request.
        (
            caused(httpx2.ConnectError("gone"), aiohttp.ServerDisconnectedError()),
            O.NETWORK,
            None,
        ),
        (caused(httpx2.ConnectError("reset"), aiohttp.ClientOSError(104)), O.NETWORK, None),
        (caused(httpx2.ConnectError("who knows")), O.NETWORK, None),
        (caused(httpx2.RemoteProtocolError("cut")), O.NETWORK, None),
        (caused(httpx2.ReadError("reset")), O.NETWORK, None),
        (httpx2.RemoteProtocolError("peer closed"), O.NETWORK, None),
        (httpx2.ReadTimeout("slow"), O.NETWORK, None),
        (ValueError("not JSON"), O.UNKNOWN, None),
        (KeyError("usage"), O.UNKNOWN, None),
        (anthropic.AnthropicError("odd"), O.UNKNOWN, None),
    ],
    ids=repr,
)
def test_only_a_call_that_was_never_sent_is_known_to_cost_nothing(error, outcome, usage):
    reply = reply_to(error)
    assert (reply.outcome, reply.usage, reply.status) == (outcome, usage, None)
    assert reply.problem


def test_no_problem_is_longer_than_its_column():
    assert len(reply_to(status_error(400, message="x" * 1_000)).problem) == 300
    assert len(reply_to(ValueError("x" * 1_000)).problem) == 300


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7), ("0.5", 0.5), ("-3", 0), ("soon", None), (None, None), ("nan", None),
        ("3600", 3600), ("86400", 3600), ("1e300", 3600), ("inf", 3600),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600), ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
    ],
)  # fmt: skip
def test_how_long_to_wait(header, seconds):
    headers = {} if header is None else {"retry-after": header}
    assert reply_to(status_error(429, headers=headers)).retry_after == seconds


@pytest.mark.parametrize(
    ("headers", "exhausted"),
    [
        ({}, None),
        (LIMITS, False),
        (LIMITS | {"anthropic-ratelimit-requests-remaining": "0"}, True),
        (LIMITS | {"anthropic-ratelimit-input-tokens-remaining": "200"}, True),
        (LIMITS | {"anthropic-ratelimit-input-tokens-remaining": "201"}, False),
    ],
)
def test_whether_a_limit_of_ours_is_used_up(headers, exhausted):
    assert reply_to(status_error(429, headers=headers)).told.exhausted is exhausted
    assert reply_to(status_error(529, headers=headers)).told.exhausted is None


def message(stop="end_turn", text="four", **usage):
    return {
        "content": [{"type": "thinking", "thinking": "2 + 2"}, {"type": "text", "text": text}],
        "stop_reason": stop,
        "usage": {"input_tokens": 9, "output_tokens": 3, **usage},
    }


@pytest.mark.parametrize(
    ("stop", "outcome"),
    [
        ("end_turn", O.OK),
        ("stop_sequence", O.OK),
        ("max_tokens", O.TRUNCATED),
        ("model_context_window_exceeded", O.TRUNCATED),
        ("refusal", O.REFUSED),
        ("tool_use", O.UNKNOWN),
        ("pause_turn", O.UNKNOWN),
        ("of_tomorrow", O.UNKNOWN),
    ],
)
def test_a_message_is_its_stop_reason_and_is_paid(stop, outcome):
    reply = read_message(message(stop), 200, {"request-id": "req_1"})
    assert (reply.outcome, reply.text, reply.stop_reason) == (outcome, "four", stop)
    assert (reply.usage, reply.request_id) == (Usage(input=9, output=3), "req_1")
    assert bool(reply.problem) == (outcome is not O.OK)


@pytest.mark.parametrize(
    "odd",
    [
        {"usage": {"input_tokens": -1, "output_tokens": 2}},
        {"usage": {"input_tokens": None, "output_tokens": 2}},
        {"usage": {"input_tokens": 10**30, "output_tokens": 2}},
        {"stop_reason": 5},
    ],
)
def test_a_message_that_no_column_could_take_is_refused_as_a_whole(odd):
    message = {"stop_reason": "end_turn", "content": [], "usage": {"input_tokens": 1}}
    with pytest.raises((TypeError, ValueError, KeyError)):
        read_message(message | odd, 200, {})


@pytest.mark.parametrize(("said", "limit"), [("9223372036854775807", 10**9), ("unlimited", None)])
def test_a_limit_without_end_is_one_that_a_column_takes(said, limit):
    told = reply_to(status_error(429, headers={"anthropic-ratelimit-requests-limit": said})).told
    assert told.rpm == limit


def test_a_message_without_a_stop_reason_broke_off_and_its_cost_is_unknown():
    reply = read_message(message(None), 200, {})
    assert (reply.outcome, reply.usage, reply.text) == (O.NETWORK, None, "four")


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({}, Usage(9, 3)),
        ({"cache_read_input_tokens": 70}, Usage(9, 3, cache_read=70)),
        ({"cache_read_input_tokens": None, "cache_creation": None}, Usage(9, 3)),
        ({"cache_creation_input_tokens": 80}, Usage(9, 3, cache_write_5m=80)),
        (
            {
                "cache_creation_input_tokens": 80,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 50, "ephemeral_1h_input_tokens": 30
                },
            },
            Usage(9, 3, cache_write_5m=50, cache_write_1h=30),
        ),
    ],
)  # fmt: skip
def test_tokens_by_kind(usage, read):
    assert read_message(message(**usage), 200, {}).usage == read


def test_the_limits_that_an_answer_states():
    headers = LIMITS | {"anthropic-ratelimit-output-tokens-limit": "many"}
    assert read_message(message(), 200, headers).told == Told(1_000, 20_000, None, None)
