"""Money: Decimal dollars in Python, whole units of 10⁻¹⁰ dollars in the database.

A ten-thousandth of a dollar per million tokens, the finest step in any published price, is exactly
one unit per token, so that every price times every count is a whole number of units, sums are
exact on every database, and `UPDATE … SET cost = cost + n` needs no arithmetic in Python.
"""

from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal

UNITS_PER_DOLLAR = 10**10
ZERO = Decimal(0)
FEWEST_DECIMALS = 4


def units(dollars: Decimal) -> int:
    """Whole units of an amount; anything finer is rounded up, so no cost is understated."""
    return int((dollars * UNITS_PER_DOLLAR).to_integral_value(ROUND_CEILING))


def dollars(amount: int) -> Decimal:
    """The Decimal dollars of a number of units."""
    return Decimal(amount).scaleb(-10)


def plain(amount: Decimal) -> str:
    """An amount without an exponent, and without zeros that say nothing: 1.5, 20."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def decimals_of(amounts: Iterable[Decimal | None]) -> int:
    """How many decimals the dollars of a task need where they are read beside each other: the
    largest shows three digits that say something, the smallest two; four at least."""
    known = [abs(amount).adjusted() for amount in amounts if amount]
    if not known:
        return FEWEST_DECIMALS
    return max(FEWEST_DECIMALS, 2 - max(known), 1 - min(known))


def share_out(total: int, weights: list[int]) -> list[int]:
    """Split `total` units by weight without losing one (largest remainder first).

    With no weight at all the split is even.
    """
    if not any(weights):
        weights = [1] * len(weights)
    whole = sum(weights)
    shares = [total * weight // whole for weight in weights]
    remainders = sorted(
        range(len(weights)), key=lambda i: (total * weights[i] % whole, -i), reverse=True
    )
    for index in remainders[: total - sum(shares)]:
        shares[index] += 1
    return shares
