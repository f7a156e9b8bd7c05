"""JSONL text, one object on a line, as records."""

from collections.abc import Iterator

from batchboard.ingest.error import IngestError, missing, shown
from batchboard.ingest.lines import MAX_CELL_BYTES, MAX_RECORD_BYTES, Lines, RecordTooLong
from batchboard.ingest.naming import Record, key_column, refuse_wide
from batchboard.strict_json import JsonError, Value, compact, parse

_KINDS = {list: "a list", str: "text", bool: "true or false", type(None): "null"}
_WHOLE_OBJECTS = 'Each line must be one whole object, such as {"title": "…"}.'


def records(lines: Lines, key: str | None, needs: frozenset[str]) -> Iterator[Record]:
    """One record for each line that is not blank.

    Every object must hold the needed fields and the key; a field may be empty or null, not absent.
    The first object decides which field holds the keys.
    """
    column: str | None = None
    empty = True
    needed = sorted(needs)
    names: set[str] = set()
    try:
        for text in lines:
            if not text.isspace():
                data = _object(text, lines.number)
                if empty and data:
                    column = key_column(data, key, lines.number)
                empty = False
                names.update(data)
                refuse_wide(len(names), lines.number)
                _require(data, column, needed, lines.number)
                if lines.record_bytes > MAX_CELL_BYTES:
                    _refuse_large_value(data, lines.number)
                yield Record(lines.number, column, data)
            lines.begin()
    except RecordTooLong:
        raise IngestError(
            f"Line {lines.number} is over {MAX_RECORD_BYTES:,} bytes long.",
            line=lines.number,
            hint=f"A value may hold {MAX_CELL_BYTES:,} bytes.",
        ) from None
    if empty:
        raise IngestError("The file is empty.", hint="Give it one object for each item.")


def _object(text: str, line: int) -> dict[str, Value]:
    try:
        value = parse(text.rstrip())
    except JsonError as broken:
        at = "" if broken.column is None else f" at column {broken.column}"
        cut_short = text.strip() in ("{", "[") or text.lstrip().startswith("[")
        raise IngestError(
            f"Line {line} is not valid JSON: {broken.problem}{at}.",
            line=line,
            hint=_WHOLE_OBJECTS if cut_short else None,
        ) from None
    if not isinstance(value, dict):
        kind = _KINDS.get(type(value), "a number")
        raise IngestError(f"Line {line} is {kind}, not an object.", line=line, hint=_WHOLE_OBJECTS)
    return value


def _require(data: dict[str, Value], key: str | None, needed: list[str], line: int) -> None:
    if not data:
        raise IngestError(f"Line {line} is an empty object.", line=line, hint="Fill it.")
    for name in needed:
        if name not in data:
            clause = f"Line {line} has no field {shown(name)}, which the template names"
            raise missing(clause, [name], data, line)
    if key is not None and key not in data:
        clause = f"Line {line} has no field {shown(key)}, which holds the keys"
        raise missing(clause, [key], data, line)


def _refuse_large_value(data: dict[str, Value], line: int) -> None:
    for name, value in data.items():
        text = value if isinstance(value, str) else compact(value)
        if len(text.encode()) > MAX_CELL_BYTES:
            raise IngestError(
                f"The field {shown(name)} on line {line} is over {MAX_CELL_BYTES:,} bytes long, "
                "the most that a value may hold.",
                line=line,
                column=name,
                hint="Shorten it.",
            )
