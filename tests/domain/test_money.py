"""Money is exact: in the column, in sums, and when it is shared out."""

from decimal import Decimal

import pytest
from django.db.models import F, Sum
from hypothesis import given
from hypothesis import strategies as st

from batchboard.models import Spend
from batchboard.models.fields import usd
from batchboard.money import dollars, share_out, units

UNIT = Decimal("0.0000000001")


@pytest.mark.parametrize(
    ("amount", "whole"),
    [
        ("0", 0),
        ("1", 10_000_000_000),
        ("0.0000000001", 1),
        ("0.00000000001", 1),  # finer than a unit: rounded up, never lost
        ("12.3456789012", 123_456_789_012),
        ("-0.5", -5_000_000_000),
        ("922337203.6854775807", 9_223_372_036_854_775_807),
    ],
)
def test_an_amount_in_units(amount, whole):
    assert units(Decimal(amount)) == whole


@given(st.integers(-(2**63), 2**63 - 1))
def test_units_survive_the_way_through_dollars(whole):
    assert units(dollars(whole)) == whole


@given(st.integers(0, 10**15), st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
def test_shares_add_up_to_the_last_unit_and_are_never_negative(total, weights):
    shares = share_out(total, weights)
    assert sum(shares) == total
    assert min(shares) >= 0
    assert len(shares) == len(weights)


@given(st.integers(0, 10**9), st.lists(st.integers(1, 10**4), min_size=1, max_size=20))
def test_a_share_is_less_than_a_unit_off_its_exact_part(total, weights):
    for share, weight in zip(share_out(total, weights), weights, strict=True):
        assert abs(share - Decimal(total) * weight / sum(weights)) < 1


@pytest.mark.parametrize(
    ("total", "weights", "shares"),
    [
        (10, [1, 1, 1], [4, 3, 3]),
        (10, [0, 0, 0], [4, 3, 3]),
        (10, [0, 1, 0], [0, 10, 0]),
        (1, [5, 5], [1, 0]),
        (0, [3, 4], [0, 0]),
        (7, [2, 5], [2, 5]),
    ],
)
def test_shares(total, weights, shares):
    assert share_out(total, weights) == shares


@pytest.mark.django_db
@pytest.mark.parametrize(
    "amount", ["0", "0.0000000001", "3.1400000007", "-2", "922337203.6854775807"]
)
def test_a_column_of_money_gives_back_what_it_took(amount):
    Spend.objects.create(month="2026-11", known=Decimal(amount))
    spend = Spend.objects.get()
    assert spend.known == Decimal(amount)
    assert isinstance(spend.known, Decimal)


@pytest.mark.django_db
def test_the_database_adds_money_exactly():
    Spend.objects.create(month="2026-11", known=Decimal("0.1"))
    for _ in range(3):
        Spend.objects.update(known=F("known") + usd(1))
    Spend.objects.create(month="2026-12", known=Decimal("0.2"))
    assert Spend.objects.get(month="2026-11").known == Decimal("0.1") + 3 * UNIT
    assert Spend.objects.aggregate(all=Sum("known"))["all"] == Decimal("0.3") + 3 * UNIT
    assert Spend.objects.filter(known__gte=Decimal("0.2")).count() == 1
