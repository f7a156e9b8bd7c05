"""What a file holds, found while its rows are read once: columns, sizes, and which can be keys.

With it a form answers at once how large the prompts of any template would be, and what a column
would do as the key, without reading the file again.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from batchboard import template
from batchboard.ingest.error import shown
from batchboard.ingest.naming import MAX_KEY_CHARACTERS
from batchboard.ingest.reader import Row
from batchboard.strict_json import Value

KEPT_CELLS = 40_000
"""Sizes are kept of every row of a small file, and of every second, fourth, … of a large one."""


@dataclass
class Column:
    """One column: the bytes of all its texts, and why it cannot hold the keys, if so.

    `absent` is the first line that lacks it; only a line of JSONL can.
    """

    name: str
    bytes: int = 0
    no_key: str = ""
    absent: int | None = None


@dataclass
class Profile:
    """Of `rows` rows; `sizes` holds the bytes of each column for a regular choice of them."""

    rows: int
    columns: list[Column]
    sizes: list[list[int]]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> Self:
        columns = [Column(**column) for column in content["columns"]]
        return cls(content["rows"], columns, content["sizes"])

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def prompt_sizes(self, prompt: str, rows: int | None = None) -> Counter[int]:
        """Bytes of rendered prompt → how many of the first `rows` items, by the rows kept."""
        fixed, uses = template.weights(prompt)
        places = [(place, uses[c.name]) for place, c in enumerate(self.columns) if uses[c.name]]
        found = [fixed + sum(row[place] * n for place, n in places) for row in self.sizes]
        rows = self.rows if rows is None else min(rows, self.rows)
        if rows <= len(found) and self.rows == len(found):
            return Counter(found[:rows])
        each, more = divmod(rows, len(found))
        counted: Counter[int] = Counter()
        for number, size in enumerate(found):
            counted[size] += each + (number < more)
        return +counted


class Profiler:
    """Takes each row once and makes a Profile of them."""

    def __init__(self, unit: str = "Line") -> None:
        self._unit = unit
        self._columns: dict[str, Column] = {}
        self._seen: dict[str, dict[int, int]] = {}
        self._sizes: list[list[int]] = []
        self._step = 1
        self._rows = 0

    def take(self, row: Row) -> None:
        columns = self._columns
        for name in row.data:
            if name not in columns:
                self._add(name, row.line)
        sizes = []
        for name, column in columns.items():
            if name not in row.data:
                sizes.append(0)
                self._absent(column, row.line)
                continue
            value = row.data[name]
            size = len(template.as_text(value).encode())
            column.bytes += size
            sizes.append(size)
            if not column.no_key:
                self._check_key(column, value, row.line)
        if self._rows % self._step == 0:
            self._keep(sizes)
        self._rows += 1

    def profile(self) -> Profile:
        width = len(self._columns)
        sizes = [row + [0] * (width - len(row)) for row in self._sizes]
        return Profile(self._rows, list(self._columns.values()), sizes)

    def _add(self, name: str, line: int) -> None:
        self._columns[name] = Column(name)
        self._seen[name] = {}
        if self._rows:
            self._absent(self._columns[name], 1)

    def _absent(self, column: Column, line: int) -> None:
        if column.absent is None:
            column.absent = line
            column.no_key = f"{self._unit} {line} lacks it"
            self._seen.pop(column.name, None)

    def _check_key(self, column: Column, value: Value, line: int) -> None:
        if isinstance(value, str):
            key = value.strip()
        elif isinstance(value, int) and not isinstance(value, bool):
            key = str(value)
        else:
            key = ""
        where = f"{self._unit.lower()} {line}"
        if not key:
            self._refuse(column, f"it is empty on {where}")
            return
        if len(key) > MAX_KEY_CHARACTERS:
            self._refuse(column, f"over {MAX_KEY_CHARACTERS} characters on {where}")
            return
        if not key.isprintable() and any(
            unicodedata.category(letter) in {"Cc", "Zl", "Zp"} for letter in key
        ):
            self._refuse(column, f"a control character on {where}")
            return
        first = self._seen[column.name].setdefault(hash(key), line)
        if first != line:
            self._refuse(column, f"{self._unit.lower()}s {first} and {line} both have {shown(key)}")

    def _refuse(self, column: Column, why: str) -> None:
        column.no_key = why
        self._seen.pop(column.name, None)

    def _keep(self, sizes: list[int]) -> None:
        self._sizes.append(sizes)
        if len(self._sizes) * len(sizes) > KEPT_CELLS and len(self._sizes) > 1:
            self._sizes = self._sizes[::2]
            self._step *= 2
