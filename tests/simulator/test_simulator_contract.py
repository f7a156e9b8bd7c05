"""The real SDK client against the simulator: answers, errors, streams."""

import json
from io import BytesIO

import anthropic
import pytest
from aiohttp import ClientSession


def test_a_message_carries_text_usage_and_a_request_id(talk, request_for):
    async def scenario(client, served):
        raw = await client.messages.with_raw_response.create(**request_for())
        return raw, await raw.parse()

    raw, message = talk(scenario)
    assert raw.headers["request-id"].startswith("req_")
    assert message.stop_reason == "end_turn"
    assert message.content[0].text
    assert message.usage.output_tokens == -(-len(message.content[0].text) // 4)
    assert message.usage.cache_creation.ephemeral_1h_input_tokens == 0
    assert message.usage.service_tier == "standard"


def test_a_text_may_be_given_its_answer(talk, request_for):
    odd = "<b>\x1b[31m\ud800"

    async def scenario(client, served):
        texts = ("Write it", "write anything")
        return [await client.messages.create(**request_for(text)) for text in texts]

    given, other = talk(scenario, answer_containing={"Write": odd})
    assert given.content[0].text == odd
    assert given.usage.output_tokens == 3
    assert odd not in other.content[0].text


def test_counted_tokens_are_the_tokens_used(talk, request_for):
    request = request_for("Zürich " * 50, system="Read with care.")

    async def scenario(client, served):
        counted = await client.messages.count_tokens(
            model=request["model"], messages=request["messages"], system=request["system"]
        )
        message = await client.messages.create(**request)
        return counted.input_tokens, message.usage.input_tokens

    counted, used = talk(scenario)
    assert counted == used
    assert counted <= len(("Zürich " * 50 + "Read with care.").encode()) + 64


def test_an_answer_longer_than_max_tokens_is_cut(talk, request_for):
    async def scenario(client, served):
        return await client.messages.create(**request_for(max_tokens=10))

    message = talk(scenario, output_tokens=200)
    assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 10)
    assert len(message.content[0].text) <= 40


def test_priming_with_no_output_tokens_answers_nothing(talk, request_for):
    async def scenario(client, served):
        return await client.messages.create(**request_for(max_tokens=0))

    message = talk(scenario)
    assert (message.content, message.usage.output_tokens) == ([], 0)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"model": "claude-unheard-of"}, anthropic.NotFoundError),
        ({"messages": []}, anthropic.BadRequestError),
        ({"max_tokens": -1}, anthropic.BadRequestError),
        ({"extra_body": {"temperature": 0.5}}, anthropic.BadRequestError),
        ({"extra_body": {"top_p": 0.5}}, anthropic.BadRequestError),
        ({"extra_body": {"max_tokens": None}}, anthropic.BadRequestError),
        ({"output_config": {"format": {"type": "text"}}}, anthropic.BadRequestError),
        (
            {"output_config": {"format": {"type": "json_schema", "schema": {"$ref": "#/none"}}}},
            anthropic.BadRequestError,
        ),
        ({"system": [{"type": "text"}]}, anthropic.BadRequestError),
    ],
)
def test_a_request_that_the_provider_would_not_take_is_refused(talk, request_for, fields, error):
    async def scenario(client, served):
        with pytest.raises(error) as caught:
            await client.messages.create(**request_for(**fields))
        return caught.value, served.provider.ledger.statistics()

    refused, statistics = talk(scenario)
    assert refused.request_id
    assert statistics["bill_usd"] == "0"


def test_a_body_over_32_megabytes_is_too_large(talk, request_for):
    async def scenario(client, served):
        body = BytesIO(json.dumps(request_for("x" * (33 << 20))).encode())
        async with (
            ClientSession(headers={"x-api-key": "k"}) as session,
            session.post(served.url + "/v1/messages", data=body) as answer,
        ):
            return answer.status, (await answer.json())["error"]["type"]

    assert talk(scenario) == (413, "request_too_large")


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 401), ({"x-api-key": "k"}, 200), ({"Authorization": "Bearer k"}, 200)],
)
def test_a_key_is_needed_in_either_header(talk, request_for, headers, status):
    async def scenario(client, served):
        url = served.url + "/v1/messages"
        async with (
            ClientSession() as session,
            session.post(url, json=request_for(), headers=headers) as answer,
        ):
            return answer.status, await answer.json()

    found, body = talk(scenario)
    assert found == status
    if status == 401:
        assert body["error"]["type"] == "authentication_error"


FAULT_ERRORS = [
    ("400", anthropic.BadRequestError),
    ("401", anthropic.AuthenticationError),
    ("402", anthropic.PaymentRequiredError),
    ("403", anthropic.PermissionDeniedError),
    ("404", anthropic.NotFoundError),
    ("429", anthropic.RateLimitError),
    ("500", anthropic.InternalServerError),
    ("529", anthropic.InternalServerError),
    ("drop", anthropic.APIConnectionError),
]


@pytest.mark.parametrize(("fault", "error"), FAULT_ERRORS)
def test_an_injected_fault_reaches_the_client_as_its_own_error(talk, request_for, fault, error):
    async def scenario(client, served):
        with pytest.raises(error):
            await client.messages.create(**request_for("this one: boom"))
        await client.messages.create(**request_for("this one is fine"))
        return served.provider.ledger

    ledger = talk(scenario, fail_containing={"boom": fault})
    failed, fine = ledger.calls()
    assert (failed["fault"], failed["answered"], failed["cost_usd"]) == (fault, False, "0")
    assert (fine["fault"], fine["answered"], fine["status"]) == (None, True, 200)


@pytest.mark.parametrize(
    ("fault", "code", "retry_after"),
    [
        ("ramp_limit", "ramp_limit_exceeded", "3"),
        ("spend_limit", "enforced_spend_limit_reached", None),
    ],
)
def test_the_429s_tell_themselves_apart(talk, request_for, fault, code, retry_after):
    async def scenario(client, served):
        with pytest.raises(anthropic.RateLimitError) as caught:
            await client.messages.create(**request_for("boom"))
        return caught.value

    error = talk(scenario, fail_containing={"boom": fault}, fault_retry_after=3)
    assert error.body["error"]["details"]["error_code"] == code
    assert error.response.headers.get("retry-after") == retry_after


def test_a_stream_adds_up_to_the_message_that_would_have_come_whole(talk, request_for):
    async def scenario(client, served):
        whole = await client.messages.create(**request_for())
        async with client.messages.stream(**request_for()) as stream:
            pieces = [text async for text in stream.text_stream]
            return whole, pieces, await stream.get_final_message()

    whole, pieces, streamed = talk(scenario)
    assert len(pieces) > 1
    assert "".join(pieces) == whole.content[0].text == streamed.content[0].text
    assert streamed.stop_reason == "end_turn"
    assert streamed.usage.output_tokens == whole.usage.output_tokens


def test_an_error_in_the_middle_of_a_stream_is_not_billed(talk, request_for):
    async def scenario(client, served):
        with pytest.raises(anthropic.APIStatusError) as caught:
            async with client.messages.stream(**request_for("boom")) as stream:
                await stream.get_final_message()
        return caught.value, served.provider.ledger.statistics()

    error, statistics = talk(scenario, fail_containing={"boom": "stream_error"})
    assert (error.status_code, error.type) == (200, "overloaded_error")
    assert (statistics["bill_usd"], statistics["answered_items"]) == ("0", 0)


def test_a_call_that_does_not_stream_has_no_stream_error(talk, request_for):
    async def scenario(client, served):
        await client.messages.create(**request_for())
        (call,) = served.provider.ledger.calls()
        return call

    call = talk(scenario, rate_stream_error=1.0)
    assert (call["fault"], call["answered"]) == (None, True)


@pytest.mark.parametrize("reason", ["refusal", "truncated"])
def test_an_answer_may_end_otherwise_than_well(talk, request_for, reason):
    async def scenario(client, served):
        return await client.messages.create(**request_for("boom"))

    message = talk(scenario, fail_containing={"boom": reason})
    assert message.stop_reason == {"refusal": "refusal", "truncated": "max_tokens"}[reason]
