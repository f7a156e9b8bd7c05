"""Message batches: half price, unordered results, counts only at the end."""

import asyncio
from decimal import Decimal

import anthropic
import pytest


async def ended(client, batch):
    async with asyncio.timeout(5):
        while batch.processing_status != "ended":
            await asyncio.sleep(0.02)
            batch = await client.messages.batches.retrieve(batch.id)
    return batch


def requests_for(request_for, *texts):
    return [
        {"custom_id": f"id-{number}", "params": request_for(text)}
        for number, text in enumerate(texts)
    ]


async def results_of(client, batch):
    stream = await client.messages.batches.results(batch.id)
    return {line.custom_id: line.result async for line in stream}


def test_a_batch_ends_with_a_result_for_every_request_at_half_price(talk, request_for):
    requests = requests_for(request_for, "one", "bad", "three")
    requests.append({"custom_id": "no-model", "params": {"max_tokens": 5}})

    async def scenario(client, served):
        whole = await client.messages.create(**request_for("one"))
        before = served.provider.ledger.bill
        created = await client.messages.batches.create(requests=requests)
        batch = await ended(client, created)
        return created, batch, await results_of(client, batch), whole, before, served

    created, batch, results, whole, before, served = talk(
        scenario, batch_seconds=0.1, fail_containing={"bad": "500"}
    )
    assert created.request_counts.processing == 4
    assert (created.results_url, created.request_counts.succeeded) == (None, 0)
    assert (batch.request_counts.succeeded, batch.request_counts.errored) == (2, 2)
    assert results["id-0"].message.content[0].text == whole.content[0].text
    assert results["id-0"].message.usage.service_tier == "batch"
    assert results["id-1"].error.error.type == "api_error"
    assert results["no-model"].error.error.type == "invalid_request_error"
    calls = [call for call in served.provider.ledger.calls() if call["batch_id"] == batch.id]
    assert Decimal(calls[0]["cost_usd"]) == before / 2
    assert calls[0]["custom_id"] == "id-0"


def test_a_cancelled_batch_returns_what_it_had_not_reached_as_canceled(talk, request_for):
    async def scenario(client, served):
        batches = client.messages.batches
        batch = await batches.create(requests=requests_for(request_for, "one", "two"))
        with pytest.raises(anthropic.BadRequestError):
            await batches.delete(batch.id)
        assert (await batches.cancel(batch.id)).processing_status in ("canceling", "ended")
        batch = await ended(client, batch)
        results = await results_of(client, batch)
        listed = [each.id async for each in batches.list()]
        await batches.delete(batch.id)
        with pytest.raises(anthropic.NotFoundError):
            await batches.retrieve(batch.id)
        return batch, results, listed

    batch, results, listed = talk(scenario, batch_seconds=60)
    assert {result.type for result in results.values()} == {"canceled"}
    assert batch.request_counts.canceled == 2
    assert listed == [batch.id]


def test_a_batch_is_there_before_the_answer_that_tells_of_it(talk, request_for):
    async def scenario(client, served):
        batches = client.messages.batches
        creation = asyncio.create_task(batches.create(requests=requests_for(request_for, "one")))
        async with asyncio.timeout(5):
            while not (listed := [each async for each in batches.list()]):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        answered = creation.done()
        return listed, answered, (await creation).id, served.provider.ledger.statistics()

    listed, answered, created, seen = talk(scenario, batch_answer_seconds=0.3, batch_seconds=5)
    assert not answered
    assert [each.id for each in listed] == [created]
    assert (listed[0].request_counts.processing, seen["message_batches"]) == (1, 1)


def test_a_custom_id_may_be_used_once(talk, request_for):
    async def scenario(client, served):
        request = requests_for(request_for, "one")[0]
        with pytest.raises(anthropic.BadRequestError):
            await client.messages.batches.create(requests=[request, request])

    talk(scenario)


def test_the_list_comes_in_pages_newest_first(talk, request_for):
    async def scenario(client, served):
        batches = client.messages.batches
        made = [
            (await batches.create(requests=requests_for(request_for, str(number)))).id
            for number in range(3)
        ]
        return made, [each.id async for each in batches.list(limit=2)]

    made, listed = talk(scenario, batch_seconds=0)
    assert listed == made[::-1]
