"""Columns of our own."""

from decimal import Decimal
from typing import Any

from django.db import models

from batchboard.money import dollars, units


class UsdField(models.BigIntegerField):  # type: ignore[type-arg]
    """A column of money: Decimal dollars outside, whole units inside."""

    def from_db_value(self, value: int | None, *_: Any) -> Decimal | None:
        return None if value is None else dollars(int(value))

    def to_python(self, value: Any) -> Decimal | None:
        return None if value is None else Decimal(value)

    def get_prep_value(self, value: Any) -> int | None:
        return None if value is None else units(Decimal(value))

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> int | None:
        return value if prepared else self.get_prep_value(value)


def usd(amount: int) -> models.Value:
    """A number of units as a value that can be added to a column of money."""
    return models.Value(dollars(amount), output_field=UsdField())
