"""Results of a released batch as files: JSON Lines, CSV, XLSX.

All of them come through the one door, `batch.released_results()`, and each delivery is recorded
once its last byte was taken. JSON Lines holds values exactly as they are. CSV and XLSX have a
column for the key, for each input column ("input." where the name is taken), for the whole output,
for each field of the output that the contract names ("output.field"), and for the cost.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from tempfile import TemporaryFile
from typing import Any

import xlsxwriter
from django.utils.text import slugify

from batchboard.models import Batch, ItemInput
from batchboard.roles import Right, require
from batchboard.states import ItemState, MoveRefused

ROWS_AT_ONCE = 500
CHUNK_BYTES = 256 * 1024
SHEET_ROWS = 1_048_575
"""What a worksheet holds below its header."""

CELL_CHARACTERS = 32_767
"""What a worksheet's cell holds."""

CUT = "… (cut: the CSV and JSONL exports hold all of it)"
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")

Result = dict[str, Any]


@dataclass(frozen=True)
class Format:
    """One kind of file: its ending, what it is to a browser, and what writes it."""

    name: str
    content_type: str
    write: Callable[[Batch, Iterator[Result]], Iterator[bytes]]


def export(batch: Batch, format_: str, by: Any = None) -> Iterator[bytes]:
    """The file in pieces. Raises NotAllowed at once, or MoveRefused where the gate is shut or the
    results do not fit the format; the delivery is recorded when the last piece was taken."""
    require(by, Right.EXPORT, f"export the results of {batch.name}")
    results = batch.released_results()
    if format_ == "xlsx" and batch.succeeded > SHEET_ROWS:
        raise MoveRefused(
            f"A worksheet holds {SHEET_ROWS:,} results and {batch.name} has {batch.succeeded:,}:"
            " export CSV or JSONL."
        )
    return _delivered(batch, FORMATS[format_], results, by)


def file_name(batch: Batch, format_: str) -> str:
    """A name that every file system takes, with the batch's id in it."""
    name = slugify(batch.name.removeprefix("[Batch]"))[:80]
    return f"{name or 'batch'}-{batch.public_id}.{format_}"


def harmless(cell: str) -> str:
    """A cell that a spreadsheet shows and never runs as a formula: one that begins like a formula,
    and is no plain number, gets an apostrophe in front."""
    if not cell.startswith(FORMULA_STARTS) or PLAIN_NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def _delivered(
    batch: Batch, format_: Format, results: Iterator[Result], by: Any
) -> Iterator[bytes]:
    counted = _Counted(results)
    yield from format_.write(batch, counted)
    batch.record_export(format_.name, counted.count, by)


class _Counted:
    """Passes results on and counts them."""

    def __init__(self, results: Iterator[Result]) -> None:
        self._line = results
        self.count = 0

    def __iter__(self) -> Iterator[Result]:
        return self

    def __next__(self) -> Result:
        result = next(self._line)
        self.count += 1
        return result


def _jsonl(_: Batch, results: Iterator[Result]) -> Iterator[bytes]:
    for some in _groups(results):
        lines = (
            json.dumps(one | {"cost_usd": float(one["cost_usd"])}, ensure_ascii=False) + "\n"
            for one in some
        )
        # Half of a surrogate pair cannot be UTF-8; its escape is JSON and means the same.
        yield "".join(lines).encode(errors="backslashreplace")


def _csv(batch: Batch, results: Iterator[Result]) -> Iterator[bytes]:
    table = Table.of(batch)
    buffer = StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow([harmless(title) for title in table.titles])
    yield _taken(buffer)
    for some in _groups(results):
        for result in some:
            writer.writerow([_text_cell(value) for value in table.row(result)])
        yield _taken(buffer)


def _xlsx(batch: Batch, results: Iterator[Result]) -> Iterator[bytes]:
    table = Table.of(batch)
    with TemporaryFile() as file:
        book = xlsxwriter.Workbook(file, {"constant_memory": True})
        sheet = book.add_worksheet("Results")
        sheet.freeze_panes(1, 1)
        for column, title in enumerate(table.titles):
            sheet.write_string(0, column, _fitting(title), book.add_format({"bold": True}))
        for row, result in enumerate(results, start=1):
            for column, value in enumerate(table.row(result)):
                _write_cell(sheet, row, column, value)
        book.close()
        file.seek(0)
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


FORMATS: Mapping[str, Format] = {
    format_.name: format_
    for format_ in (
        Format("csv", "text/csv; charset=utf-8", _csv),
        Format("jsonl", "application/jsonl; charset=utf-8", _jsonl),
        Format("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", _xlsx),
    )
}


@dataclass(frozen=True)
class Table:
    """Results as rows: which input columns and which fields of the output there are."""

    inputs: list[str]
    fields: list[str]

    @classmethod
    def of(cls, batch: Batch) -> "Table":
        """Items of one file may have different columns: all of them, as they first appear."""
        rows = ItemInput.objects.filter(item__batch=batch, item__state=ItemState.SUCCEEDED)
        seen: dict[str, None] = {}
        for data in rows.order_by("pk").values_list("data", flat=True).iterator(chunk_size=2_000):
            seen.update(dict.fromkeys(data))
        contract = batch.version.contract or {}
        return cls(list(seen), list(contract.get("properties") or {}))

    @property
    def titles(self) -> list[str]:
        taken = {"key", "output", "cost_usd"}
        inputs = [f"input.{name}" if name in taken else name for name in self.inputs]
        return ["key", *inputs, "output", *(f"output.{name}" for name in self.fields), "cost_usd"]

    def row(self, result: Result) -> list[Any]:
        output = result["output"]
        fields = output if isinstance(output, dict) else {}
        return [
            result["key"],
            *(result["input"].get(name) for name in self.inputs),
            output,
            *(fields.get(name) for name in self.fields),
            float(result["cost_usd"]),
        ]


def _groups(results: Iterable[Result]) -> Iterator[list[Result]]:
    line = iter(results)
    while some := list(islice(line, ROWS_AT_ONCE)):
        yield some


def _taken(buffer: StringIO) -> bytes:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text.encode(errors="replace")


def _text_cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, str):
        return harmless(value)
    return value if _is_number(value) else json.dumps(value, ensure_ascii=False)


def _write_cell(sheet: Any, row: int, column: int, value: Any) -> None:
    """Text goes in as text, whatever it begins with: a worksheet tells it from a formula."""
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif _is_number(value) and abs(value) < 2**53:
        sheet.write_number(row, column, value)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        sheet.write_string(row, column, _fitting(text))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _fitting(text: str) -> str:
    text = text.encode(errors="replace").decode()
    return text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - len(CUT)] + CUT
