"""CSV and TSV text as lists of cells."""

import csv
import re
from collections.abc import Iterator
from typing import NamedTuple

from batchboard.ingest.error import IngestError, shown
from batchboard.ingest.lines import MAX_CELL_BYTES, MAX_RECORD_BYTES, Lines, RecordTooLong

_QUOTED = re.compile(r'"[^"]*+(?:""[^"]*+)*+("?)')


def cells(lines: Lines, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The line on which each record starts, and its cells; blank lines give nothing."""
    # The csv module's limit is one number for the whole process and small (131,072 characters);
    # `lines` bounds a record before this one can.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD_BYTES))
    records = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        first = lines.number + 1
        try:
            record = next(records, None)
        except csv.Error:
            raise _bad_quoting(first, "".join(lines.record), delimiter, header) from None
        except RecordTooLong:
            raise _too_long(first, "".join(lines.record), delimiter, header) from None
        if record is None:
            return
        lines.begin()
        if record:
            header = header or record
            yield first, record


class _Quote(NamedTuple):
    """Where a quote that spoils a record opened, and whether it was closed."""

    cell: int
    offset: int
    closed: bool


def _bad_quoting(first: int, record: str, delimiter: str, header: list[str]) -> IngestError:
    quote = _bad_quote(record, delimiter)
    if quote is None:
        return IngestError(f"Line {first} cannot be divided into cells.", line=first)
    line = first + _lines_before(record, quote.offset)
    where = _where(quote.cell, header)
    if quote.closed:
        return IngestError(
            f"The quoted text that starts on line {line} ({where}) goes on after its closing "
            "quote.",
            line=line,
            hint='Write a quote that belongs to the text twice ("").',
        )
    return IngestError(
        f"The quote that opens on line {line} ({where}) is never closed.",
        line=line,
        hint='Close it, or write it twice ("") inside quotes if it belongs to the text.',
    )


def _too_long(first: int, record: str, delimiter: str, header: list[str]) -> IngestError:
    quote = _bad_quote(record, delimiter)
    if quote is not None and "\n" in record[quote.offset :].rstrip():
        line = first + _lines_before(record, quote.offset)
        return IngestError(
            f"The quote that opens on line {line} ({_where(quote.cell, header)}) is not closed "
            f"within {MAX_CELL_BYTES:,} bytes, the most that a cell may hold.",
            line=line,
            hint="Close the quote or shorten the cell.",
        )
    if quote is not None:
        return _too_large(first, _where(quote.cell, header))
    for place, cell in enumerate(record.split(delimiter), start=1):
        if len(cell) > MAX_CELL_BYTES // 4 and len(cell.encode()) > MAX_CELL_BYTES:
            return _too_large(first, _where(place, header))
    return IngestError(
        f"Line {first} is over {MAX_RECORD_BYTES:,} bytes long.", line=first, hint="Shorten it."
    )


def _too_large(line: int, where: str) -> IngestError:
    return IngestError(
        f"Line {line} has a cell of over {MAX_CELL_BYTES:,} bytes ({where}).",
        line=line,
        hint="Shorten it or divide the item.",
    )


def _where(cell: int, header: list[str]) -> str:
    return f"column {shown(header[cell - 1])}" if cell <= len(header) else f"cell {cell}"


def _bad_quote(record: str, delimiter: str) -> _Quote | None:
    """The quoted cell that is not closed, or that goes on after its closing quote."""
    if '"' not in record:
        return None
    start, cell = 0, 1
    while start < len(record):
        end = start
        if quoted := _QUOTED.match(record, start):
            end = quoted.end()
            closed = bool(quoted[1])
            if not closed or record[end : end + 1] not in (delimiter, "\r", "\n", ""):
                return _Quote(cell, start, closed)
        end = record.find(delimiter, end)
        if end < 0:
            return None
        start, cell = end + 1, cell + 1
    return None


def _lines_before(record: str, offset: int) -> int:
    return len((record[:offset] + "x").encode().splitlines()) - 1
