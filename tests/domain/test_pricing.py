"""What calls cost, against bills worked out by hand from the provider's price list of 2026-11."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchboard import pricing
from batchboard.money import units
from batchboard.pricing import Usage

AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
M = 1_000_000


def cost(model, **usage):
    return pricing.rates(model, AT).cost(Usage(**usage))


@pytest.mark.parametrize(
    ("model", "usage", "bill"),
    [
        ("claude-opus-5-5", {"input": M}, "4"),
        ("claude-opus-5-5", {"output": M}, "20"),
        ("claude-opus-5-5", {"cache_write_5m": M}, "5"),
        ("claude-opus-5-5", {"cache_write_1h": M}, "8"),
        ("claude-opus-5-5", {"cache_read": M}, "0.20"),
        ("claude-sonnet-5-5", {"input": M}, "2"),
        ("claude-sonnet-5-5", {"output": M}, "10"),
        ("claude-sonnet-5-5", {"cache_write_5m": M}, "2.5"),
        ("claude-sonnet-5-5", {"cache_write_1h": M}, "4"),
        ("claude-sonnet-5-5", {"cache_read": M}, "0.10"),
        ("claude-sonnet-4-6", {"input": M, "output": M}, "18"),
        ("claude-sonnet-4-6", {"cache_write_5m": M, "cache_read": M}, "4.05"),
        ("claude-haiku-4-5", {"input": M, "output": M}, "6"),
        ("claude-haiku-4-5", {"cache_write_1h": M, "cache_read": M}, "2.10"),
        ("claude-opus-4-8", {"input": M, "output": M}, "30"),
        # 1,200 in, 350 out, 900 written, 2,000 read: 0.0024 + 0.0035 + 0.00225 + 0.0002
        (
            "claude-sonnet-5-5",
            {"input": 1_200, "output": 350, "cache_write_5m": 900, "cache_read": 2_000},
            "0.00835",
        ),
        ("claude-haiku-5-5", {"input": 1}, "0.0000001"),
        ("claude-haiku-5-5", {"cache_read": 1}, "0.00000001"),
        # Up to 100,000 tokens of prompt, and above: the whole request at the other prices.
        ("claude-haiku-5-5", {"input": 100_000, "output": 1_000}, "0.0105"),
        ("claude-haiku-5-5", {"input": 100_001, "output": 1_000}, "0.0525005"),
        # Cached tokens count for the threshold: 1 + 60,000 written + 40,000 read.
        (
            "claude-haiku-5-5",
            {"input": 1, "output": 0, "cache_write_5m": 60_000, "cache_read": 40_000},
            "0.0395005",
        ),
        ("claude-haiku-5-5", {"cache_write_5m": 60_000, "cache_read": 40_000}, "0.0079"),
        ("claude-haiku-5-5", {"cache_write_1h": 100_001}, "0.100001"),
    ],
)
def test_a_bill_worked_out_by_hand(model, usage, bill):
    assert cost(model, **usage) == units(Decimal(bill))


tokens = st.integers(0, 150_000)


@given(
    model=st.sampled_from(["claude-haiku-5-5", "claude-opus-5-5", "claude-sonnet-4-6"]),
    parts=st.tuples(tokens, tokens, tokens, tokens),
    output=tokens,
    spare=st.integers(0, 5_000),
)
def test_no_bill_passes_the_worst_case(model, parts, output, spare):
    """However a prompt of at most so many tokens is cached, and however short the answer."""
    rates = pricing.rates(model, AT)
    usage = Usage(parts[0], output, *parts[1:])
    bound = sum(parts) + spare
    assert rates.cost(usage) <= rates.worst(bound, output + spare, cache="1h")
    short = Usage(parts[0], output, parts[1], 0, parts[3])
    assert rates.cost(short) <= rates.worst(bound, output + spare, cache="5m")
    plain = Usage(input=parts[0], output=output, cache_read=parts[3])
    assert rates.cost(plain) <= rates.worst(plain.prompt + spare, output)


def test_a_model_without_a_price_is_none_not_free():
    assert pricing.rates("no-such-model", AT) is None
    assert not pricing.knows("no-such-model")
    assert pricing.knows("claude-haiku-5-5")
