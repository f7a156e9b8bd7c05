"""Many rows in one statement, the same on SQLite and PostgreSQL.

On PostgreSQL the rows travel as one array a column and parameters are bound by the server: so a
statement's text does not change with the number of rows, and is planned once for each connection.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import psycopg
from django.apps import apps
from django.db import connection

Rows = Sequence[Sequence[Any]]

MOST_VARIABLES = 30_000
"""Of one statement on SQLite, which usually takes 32,766. More rows go in several."""


def update_rows(
    table: str,
    columns: Sequence[str],
    rows: Rows,
    *,
    where: str = "TRUE",
    params: Sequence[Any] = (),
    returning: str = "",
) -> list[tuple[Any, ...]]:
    """Update each row's `columns` by id, in one statement where the database takes so many.

    `rows` hold the id first, then a value for each column; "name+" adds the value to the column
    instead. `where` may name the table as t, with `params`. Returns the `returning` columns of the
    rows that were changed, or nothing. Table, columns and conditions are the caller's own words,
    never input.
    """
    names = [name.rstrip("+") for name in columns]
    assignments = ", ".join(
        f"{name} = t.{name} + v.{name}" if column.endswith("+") else f"{name} = v.{name}"
        for name, column in zip(names, columns, strict=True)
    )
    # SQLite knows the table here by no other name than its columns'.
    name = "" if connection.vendor == "sqlite" else "t."
    returned = ", ".join(f"{name}{column}" for column in returning.split(", "))
    found = []
    for some in _at_once(rows):
        source, values = _as_table(table, ["id", *names], some)
        sql = f"UPDATE {table} AS t SET {assignments} FROM {source} WHERE t.id = v.id AND {where}"  # noqa: S608
        found += execute(sql + (f" RETURNING {returned}" if returning else ""), [*values, *params])
    return found


def insert_rows(
    table: str, columns: Sequence[str], rows: Rows, *, returning: str = ""
) -> list[tuple[Any, ...]]:
    """Insert all rows, in one statement where the database takes so many; returns the `returning`
    columns of each."""
    names = ", ".join(f'"{name}"' for name in columns)
    found = []
    for some in _at_once(rows):
        source, values = _as_table(table, columns, some)
        sql = f"INSERT INTO {table} ({names}) SELECT * FROM {source}"  # noqa: S608
        found += execute(sql + (f" RETURNING {returning}" if returning else ""), values)
    return found


def add_rows(
    table: str,
    keys: Sequence[str],
    sums: Sequence[str],
    rows: Rows,
    *,
    joined: str = "",
    beside: Mapping[str, str] | None = None,
) -> None:
    """Insert rows of `keys` and `sums` in one statement; where a row has these keys already, its
    sums grow instead. No two of `rows` may have the same keys.

    `joined` may join tables to the rows, which are called v, for the columns `beside`: name →
    expression.
    """
    columns, more = [*keys, *sums], beside or {}
    names = ", ".join(f'"{name}"' for name in (*columns, *more))
    picked = ", ".join((*(f'v."{name}"' for name in columns), *more.values()))
    grown = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in sums)
    for some in _at_once(rows):
        source, values = _as_table(table, columns, some)
        execute(
            # Without a WHERE, SQLite takes ON CONFLICT for the condition of a join.
            f"INSERT INTO {table} ({names}) SELECT {picked} FROM {source} {joined} WHERE TRUE"  # noqa: S608
            f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {grown}",
            values,
        )


def execute(sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run one statement; returns its rows, if it has any."""
    if connection.vendor == "postgresql":
        connection.ensure_connection()
        with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as bound:
            bound.execute(sql, params)
            return bound.fetchall() if bound.description else []
    with connection.cursor() as cursor:
        cursor.execute(sql, [_for_sqlite(value) for value in params])
        return cursor.fetchall() if cursor.description else []


def moment(value: Any) -> datetime | None:
    """An aware datetime from raw SQL: SQLite hands out a column naive, and MIN of it as text."""
    if value is None:
        return None
    parsed = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def now() -> datetime:
    """The database's clock: one for all machines on PostgreSQL, this machine's on SQLite."""
    if connection.vendor != "postgresql":
        return datetime.now(UTC)
    (at,) = execute("SELECT clock_timestamp()")[0]
    return at.astimezone(UTC)  # type: ignore[no-any-return]


def _at_once(rows: Rows) -> Iterator[Rows]:
    """The rows, in as few parts as the database takes."""
    size = len(rows)
    if rows and connection.vendor == "sqlite":
        size = MOST_VARIABLES // (len(rows[0]) or 1)
    for first in range(0, len(rows), max(1, size)):
        yield rows[first : first + size]


def _as_table(table: str, columns: Sequence[str], rows: Rows) -> tuple[str, list[Any]]:
    """The rows as a table v in a FROM clause, and its parameters."""
    names = ", ".join(f'"{name}"' for name in columns)
    if connection.vendor == "postgresql":
        arrays = ", ".join(f"CAST(%s AS {_type(table, name)}[])" for name in columns)
        return f"unnest({arrays}) AS v ({names})", [
            list(column) for column in zip(*rows, strict=True)
        ]
    one = "(" + ", ".join(["%s"] * len(columns)) + ")"
    renamed = ", ".join(f'column{n} AS "{name}"' for n, name in enumerate(columns, start=1))
    values = f"(SELECT {renamed} FROM (VALUES {', '.join([one] * len(rows))})) AS v"  # noqa: S608
    return values, [value for row in rows for value in row]


def _for_sqlite(value: Any) -> Any:
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return value


@lru_cache
def _type(table: str, column: str) -> str:
    """PostgreSQL's type of a column."""
    model = next(model for model in apps.get_models() if model._meta.db_table == table)
    field = next(field for field in model._meta.concrete_fields if field.column == column)
    return getattr(field, "target_field", field).rel_db_type(connection) or "text"
