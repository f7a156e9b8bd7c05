"""Rows under a header as records: what CSV, TSV and a sheet have in common."""

from collections.abc import Iterable, Iterator

from batchboard.ingest.error import BY_SEMICOLONS, IngestError, by_semicolons, no_columns, shown
from batchboard.ingest.lines import MAX_CELL_BYTES
from batchboard.ingest.naming import Record, key_column, refuse_wide
from batchboard.strict_json import Value

_UTF8_LONGEST = 4


def records(
    rows: Iterable[tuple[int, list[str]]], unit: str, key: str | None, needs: frozenset[str]
) -> Iterator[Record]:
    """Each row under its header; rows without any text are skipped.

    `unit` is what a row is called to a person: "Line" of a text, "Row" of a sheet.
    """
    filled = _filled(rows)
    line, header, _ = next(filled, (0, [], 0))
    if not header:
        raise IngestError("The file is empty.", hint="Give it a header and a row for each item.")
    names = _names(header, line, unit)
    key = key_column(names, key, line)
    if lacking := sorted(set(needs).difference(names)):
        raise no_columns(lacking, "the template", names, line)
    wanted = 1 + max(
        (place for place, name in enumerate(names) if name in needs or name == key), default=-1
    )
    width, row = len(names), 0
    for row, cells, characters in filled:
        if characters * _UTF8_LONGEST > MAX_CELL_BYTES:
            _refuse_large_cell(cells, names, row, unit)
        if len(cells) != width:
            _fit(cells, names, wanted, row, unit)
        data: dict[str, Value] = dict(zip(names, cells, strict=True))
        yield Record(row, key, data)
    if not row:
        raise IngestError(
            "The file has a header and no rows.", line=line, hint="Add a row for each item."
        )


def _filled(rows: Iterable[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str], int]]:
    """The rows that hold any text, with their number of characters."""
    for line, cells in rows:
        text = "".join(cells)
        if text and not text.isspace():
            yield line, cells, len(text)


def _names(header: list[str], line: int, unit: str) -> list[str]:
    names = [cell.strip() for cell in header]
    refuse_wide(len(names), line)
    for place, name in enumerate(names, start=1):
        if not name:
            raise IngestError(
                f"Column {place} has no name in the header ({unit.lower()} {line}).",
                line=line,
                hint="Name it or take it out.",
            )
        if name in names[: place - 1]:
            raise IngestError(
                f"The header names the column {shown(name)} twice: "
                f"columns {names.index(name) + 1} and {place}.",
                line=line,
                column=name,
                hint="Rename one of them.",
            )
    return names


def _refuse_large_cell(cells: list[str], names: list[str], row: int, unit: str) -> None:
    for place, cell in enumerate(cells):
        if len(cell.encode()) > MAX_CELL_BYTES:
            name = names[place] if place < len(names) else None
            raise IngestError(
                f"{unit} {row} has a cell of over {MAX_CELL_BYTES:,} bytes"
                + (f" (column {shown(name)})." if name else "."),
                line=row,
                column=name,
                hint="Shorten it or divide the item.",
            )


def _fit(cells: list[str], names: list[str], wanted: int, row: int, unit: str) -> None:
    if len(cells) > len(names):
        raise IngestError(
            f"{unit} {row} has {len(cells)} cells and the header has {len(names)}.",
            line=row,
            hint=_how_to_fit(names, unit),
        )
    if len(cells) < wanted:
        raise IngestError(
            f"{unit} {row} ends before the column {shown(names[wanted - 1])}: it has {len(cells)} "
            f"of {len(names)} cells.",
            line=row,
            column=names[wanted - 1],
            hint="Add the cells that are missing; they may be empty.",
        )
    cells.extend([""] * (len(names) - len(cells)))


def _how_to_fit(names: list[str], unit: str) -> str:
    if unit != "Line":
        return "Name the column in the header, or clear the cells beside it."
    if by_semicolons(names):
        return BY_SEMICOLONS
    return "Put double quotes around a cell that holds separators."
