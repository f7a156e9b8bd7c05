"""From a file of any format to rows."""

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import BinaryIO, NamedTuple

from batchboard.ingest import jsonl, separated, sheet, sheet_process, table
from batchboard.ingest.error import IngestError
from batchboard.ingest.lines import Lines
from batchboard.ingest.naming import Keys, Record
from batchboard.strict_json import Value

MAX_ROWS = 1_000_000

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
}
_ZIP_MARK = b"PK\x03\x04"
_GZIP_MARK = b"\x1f\x8b"
_JSON_LIST = re.compile(rb"\[\s*\{")


class Row(NamedTuple):
    """One item: its place among the items from 1, the line it came from, its key and its data.

    Cells of a table are text; JSONL values are what they are in JSON.
    """

    position: int
    line: int
    key: str
    data: dict[str, Value]


def read_rows(
    stream: BinaryIO,
    name: str,
    *,
    key: str | None,
    needs: frozenset[str],
    checks_keys: bool = True,
) -> Iterator[Row]:
    """The rows of a file, in its order; IngestError, possibly after some rows.

    The ending of `name` decides the format; for any other name ("-") the content does. `needs`
    are the columns that the template names. `key` is the column that names an item; without it a
    column called "key" or "id" does, and where there is none the items are called "1", "2" and
    so on, by their position. Keys are stripped, unique, at most 200 characters long and free of
    control characters. Without `checks_keys` nobody chose a key yet, and the position stands in.
    """
    lines = Lines(stream)
    kind = _kind(name, lines.head)
    keys = Keys(_unit(kind))
    position = 0
    for position, record in enumerate(_records(kind, lines, key, needs), start=1):
        if position > MAX_ROWS:
            raise IngestError(
                f"The file has over {MAX_ROWS:,} rows.",
                line=record.line,
                hint="Divide it into several files.",
            )
        taken = keys.take(record, position) if checks_keys else str(position)
        yield Row(position, record.line, taken, record.data)


def _kind(name: str, head: bytes) -> str:
    if head.startswith(_GZIP_MARK):
        raise IngestError("The file is compressed.", hint="Unpack it first.")
    if head.startswith((_ZIP_MARK, sheet.OLD_OR_LOCKED_MARK)):
        return "xlsx"
    if ending := _FORMATS.get(PurePath(name).suffix.lower()):
        return ending
    text = head.lstrip()
    if text.startswith(b"{"):
        return "jsonl"
    if _JSON_LIST.match(text):
        raise IngestError(
            "The file is one JSON list.",
            line=1,
            hint="Write the object of each item on a line of its own, without the brackets and"
            " commas around them (JSONL).",
        )
    header = text.splitlines()[0] if text else b""
    return "tsv" if b"\t" in header else "csv"


def _unit(kind: str) -> str:
    return "Row" if kind == "xlsx" else "Line"


def _records(kind: str, lines: Lines, key: str | None, needs: frozenset[str]) -> Iterator[Record]:
    if kind == "jsonl":
        return jsonl.records(lines, key, needs)
    if kind == "xlsx":
        rows = sheet.cells(lines.rest(sheet_process.MAX_FILE_BYTES))
    else:
        rows = separated.cells(lines, "\t" if kind == "tsv" else ",")
    return table.records(rows, _unit(kind), key, needs)
