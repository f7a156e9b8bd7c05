"""How items get their keys."""

import unicodedata
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from batchboard.ingest.error import IngestError, missing, shown
from batchboard.strict_json import Value

MAX_KEY_CHARACTERS = 200
MAX_COLUMNS = 2_000
_USUAL = ("key", "id")


class Record(NamedTuple):
    """What a file holds for one item; `key` names the field that holds its key, if one does."""

    line: int
    key: str | None
    data: dict[str, Value]


def key_column(names: Iterable[str], asked: str | None, line: int) -> str | None:
    """The column that holds the keys: the one asked for, else "key" or "id", else none."""
    names = list(names)
    if asked is None:
        return next((usual for usual in _USUAL if usual in names), None)
    if asked not in names:
        clause = f"There is no column {shown(asked)}, which was to hold the keys"
        raise missing(clause, [asked], names, line)
    return asked


def refuse_wide(columns: int, line: int) -> None:
    """Work on each item, and on each page that shows one, grows with the columns."""
    if columns > MAX_COLUMNS:
        raise IngestError(
            f"The file has over {MAX_COLUMNS:,} columns.",
            line=line,
            hint="Leave out those that no prompt needs, or put their values into one.",
        )


class Keys:
    """Takes the key of each record and refuses what cannot name an item.

    It remembers keys as digests: 16 bytes for each, however long the key.
    """

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._lines: dict[bytes, int] = {}

    def take(self, record: Record, position: int) -> str:
        """The key of the record at this position; without a key column, the position itself."""
        line, column, data = record
        if column is None:
            return str(position)
        key = self._text(data[column], line, column)
        if not key or len(key) > MAX_KEY_CHARACTERS or not key.isprintable():
            self._refuse_unusable(key, line, column)
        first = self._lines.setdefault(blake2b(key.encode(), digest_size=16).digest(), line)
        if first != line:
            raise IngestError(
                f"{self._unit}s {first} and {line} have the same key {shown(key)}.",
                line=line,
                column=column,
                hint=f"Keys must differ: fix the column {shown(column)} or choose another.",
            )
        return key

    def _text(self, value: Value, line: int, column: str) -> str:
        if isinstance(value, str):
            return value.strip()
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is None:
            return ""
        raise IngestError(
            f"The key on {self._unit.lower()} {line} is neither text nor a whole number.",
            line=line,
            column=column,
            hint=f"Fix the field {shown(column)} or choose another as the key.",
        )

    def _refuse_unusable(self, key: str, line: int, column: str) -> None:
        where = f"{self._unit} {line}"
        if not key:
            raise IngestError(
                f"{where} has no key: the column {shown(column)} is empty there.",
                line=line,
                column=column,
                hint="Fill it, or choose another column as the key.",
            )
        if len(key) > MAX_KEY_CHARACTERS:
            raise IngestError(
                f"{where} has a key of {len(key):,} characters: {shown(key)}.",
                line=line,
                column=column,
                hint=f"A key has at most {MAX_KEY_CHARACTERS}.",
            )
        # Joiners, marks and unusual spaces are not "printable" either, and may stay.
        if any(unicodedata.category(letter) in {"Cc", "Zl", "Zp"} for letter in key):
            raise IngestError(
                f"{where} has a key with a control character or line break: {shown(key)}.",
                line=line,
                column=column,
                hint="Take it out.",
            )
