"""Kinds of columns: money in whole units, rows of items as JSON, and the keys of items."""

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


class RowField(models.JSONField):
    """A row of a file: JSON that keeps the order of its columns, which jsonb does not."""

    def db_type(self, connection: Any) -> str | None:
        return "json" if connection.vendor == "postgresql" else super().db_type(connection)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        # psycopg reads json by itself, where Django has it leave jsonb alone.
        return (
            super().from_db_value(value, expression, connection)
            if isinstance(value, str)
            else value
        )


class KeyField(models.CharField):  # type: ignore[type-arg]
    """Text that compares by code points on every database, whatever its locale, as SQLite's does:
    the same order everywhere, and an index of it finds all that begin with a prefix as a range."""

    def db_parameters(self, connection: Any) -> Any:
        collation = "C" if connection.vendor == "postgresql" else None
        return super().db_parameters(connection) | {"collation": collation}


def usd(amount: int) -> models.Value:
    """A number of units as a value that can be added to a column of money."""
    return models.Value(dollars(amount), output_field=UsdField())
