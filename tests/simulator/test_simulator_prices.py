"""Its own bill, against arithmetic by hand."""

from decimal import Decimal

import pytest

from dispatch.simulator.prices import cost
from dispatch.simulator.usage import Usage


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        # 1,000,000 of one kind each: the table itself.
        ("claude-opus-5-5", Usage(1_000_000), "4"),
        ("claude-opus-5-5", Usage(0, output=1_000_000), "20"),
        ("claude-opus-5-5", Usage(0, write_5m=1_000_000), "5"),
        ("claude-opus-5-5", Usage(0, write_1h=1_000_000), "8"),
        ("claude-opus-5-5", Usage(0, read=1_000_000), "0.2"),
        # 1200 * 2 + 300 * 10 + 5000 * 0.1 = 5900 millionths
        ("claude-sonnet-5-5", Usage(1200, read=5000, output=300), "0.0059"),
        # 100 * 3 + 2000 * 3.75 + 1000 * 6 + 50 * 15 = 14550 millionths
        ("claude-sonnet-4-6", Usage(100, 2000, 1000, 0, 50), "0.01455"),
        # at the threshold: 60000 * 0.1 + 40000 * 0.01 + 1000 * 0.5 = 6900 millionths
        ("claude-haiku-5-5", Usage(60_000, read=40_000, output=1000), "0.0069"),
        # one token above, all dearer: 60001 * 0.5 + 40000 * 0.05 + 1000 * 2.5 = 34500.5
        ("claude-haiku-5-5", Usage(60_001, read=40_000, output=1000), "0.0345005"),
        ("claude-haiku-4-5", Usage(1000, output=1000), "0.006"),
    ],
)
def test_a_call_costs(model, usage, dollars):
    assert cost(model, usage) == Decimal(dollars)
    assert cost(model, usage, batch=True) == Decimal(dollars) / 2
    assert cost(model, usage, us_only=True) == Decimal(dollars) * Decimal("1.1")


def test_the_bill_is_the_sum_of_the_usages_that_clients_saw(talk, request_for):
    async def scenario(client, served):
        usages = []
        for number in range(5):
            message = await client.messages.create(**request_for(f"item {number}"))
            usages.append(message.usage)
        return usages, served.provider.ledger.statistics()

    usages, statistics = talk(scenario)
    by_hand = sum(
        each.input_tokens * Decimal("0.0000001") + each.output_tokens * Decimal("0.0000005")
        for each in usages
    )
    assert Decimal(statistics["bill_usd"]) == by_hand
    assert statistics["tokens"]["output"] == sum(each.output_tokens for each in usages)
