"""What a person can set while everything runs: how each value is read, and what it may be."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import models


class BudgetPeriod(models.TextChoices):
    MONTH = "month", "each calendar month (UTC)"
    ALL = "all", "in all"


@dataclass(frozen=True)
class Setting:
    """One setting that a person can change at run time: how it is read and what it may be."""

    parse: Callable[[Any], Any]
    allowed: Callable[[Any], bool]
    says: str


def _amount(value: Any) -> Decimal | None:
    return None if value in {None, ""} else Decimal(value)


def _yes(value: Any) -> bool:
    return {"yes": True, "true": True, "no": False, "false": False}[str(value).lower()]


PER_MINUTE = Setting(
    int, lambda n: 1 <= n <= 1_000_000_000, "a whole number from 1 to 1,000,000,000"
)
SETTINGS = {
    "concurrency": Setting(int, lambda n: 1 <= n <= 10_000, "a whole number from 1 to 10,000"),
    "rpm": PER_MINUTE,
    "itpm": PER_MINUTE,
    "otpm": PER_MINUTE,
    "headroom": Setting(float, lambda n: 0.05 <= n <= 1, "a number from 0.05 to 1"),
    "budget": Setting(
        _amount,
        lambda n: n is None or (n.is_finite() and 0 <= n <= 100_000_000),
        "an amount from 0 to 100,000,000",
    ),
    "budget_period": Setting(str, lambda n: n in BudgetPeriod.values, "month or all"),
    "starter_may_approve": Setting(_yes, lambda _: True, "yes or no"),
}
RATES = ("rpm", "itpm", "otpm")
"""The settings that one model may have of its own."""


def read_settings(values: dict[str, Any]) -> dict[str, Any]:
    """The values of settings as they are stored. Raises ValueError, naming the first that does not
    fit and what it may be."""
    read = {}
    for name, value in values.items():
        setting = SETTINGS[name]
        try:
            read[name] = setting.parse(value)
            fits = setting.allowed(read[name])
        except (TypeError, ValueError, ArithmeticError, LookupError):
            fits = False
        if not fits:
            raise ValueError(f"{name}: {value} is not {setting.says}. Nothing was changed.")
    return read


def as_text(changed: dict[str, list[Any]]) -> dict[str, list[str | None]]:
    return {
        name: [None if value is None else str(value) for value in pair]
        for name, pair in changed.items()
    }
