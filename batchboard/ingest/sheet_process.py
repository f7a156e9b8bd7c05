"""The process that reads one workbook: its bytes come in, a JSON list for each row goes out, then
how it ended. It may be killed by what it reads, and nobody else is."""

import json
import re
import resource
import sys
import zipfile
import zlib
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from io import BytesIO

from python_calamine import CalamineError, CalamineWorkbook, PasswordError

MAX_FILE_BYTES = 100_000_000
MAX_UNPACKED_BYTES = 500_000_000
MAX_CELLS = 20_000_000
MAX_ROW_CHARACTERS = 8_000_000
MAX_MEMORY_BYTES = 3_000_000_000
MAX_CPU_SECONDS = 300

DONE, BROKEN, LOCKED, TOO_BIG = "done", "broken", "locked", "too big"

_CHUNK = 1 << 20
_PLACE = re.compile(rb"""["']([A-Za-z]{1,3})0*([0-9]{1,7})["']""")

Cell = float | str | bool | date | datetime | time | timedelta


class _Refused(Exception):
    """The workbook cannot be used; its one argument is how the process ends."""


def main() -> None:
    for limit, most in (
        (resource.RLIMIT_AS, MAX_MEMORY_BYTES),
        (resource.RLIMIT_CPU, MAX_CPU_SECONDS),
        (resource.RLIMIT_CORE, 0),
    ):
        # Not every system knows each of them.
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    try:
        for row in _table(sys.stdin.buffer.read()):
            _say(_texts(row))
        _say(DONE)
    except _Refused as refused:
        _say(refused.args[0])
    except MemoryError:
        _say(TOO_BIG)


def _say(what: list[str] | str) -> None:
    sys.stdout.write(json.dumps(what) + "\n")


def _table(content: bytes) -> list[list[Cell]]:
    """The sheet is read whole on purpose: a broken one fails here and not between two rows."""
    _refuse_bomb(content)
    try:
        sheet = CalamineWorkbook.from_filelike(BytesIO(content)).get_sheet_by_index(0)
        return sheet.to_python(skip_empty_area=False)
    except PasswordError:
        raise _Refused(LOCKED) from None
    except (CalamineError, ValueError, OSError, IndexError):
        raise _Refused(BROKEN) from None
    except BaseException as panic:
        # A panic in calamine's Rust code is no Exception.
        if type(panic).__name__ != "PanicException":
            raise
        raise _Refused(BROKEN) from None


def _texts(row: list[Cell]) -> list[str]:
    texts = [_text(cell) for cell in row]
    while texts and not texts[-1].strip():
        texts.pop()
    if sum(map(len, texts)) > MAX_ROW_CHARACTERS:
        raise _Refused(TOO_BIG)
    return texts


def _text(cell: Cell) -> str:
    if isinstance(cell, str):
        # The database keeps no NUL, and a sheet has no use for one.
        return cell.replace("\0", "")
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell)


def _refuse_bomb(content: bytes) -> None:
    """Calamine lays a sheet out as a full rectangle: one cell in the far corner fills memory."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as package:
            parts = package.infolist()
            if sum(part.file_size for part in parts) > MAX_UNPACKED_BYTES:
                raise _Refused(TOO_BIG)
            for part in parts:
                if part.filename.lower().startswith("xl/worksheets/"):
                    _refuse_wide(package, part)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, OSError, EOFError):
        raise _Refused(BROKEN) from None
    except (NotImplementedError, RuntimeError, ValueError):
        raise _Refused(BROKEN) from None


def _refuse_wide(package: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    rows, width, tail = 0, 0, b""
    with package.open(part) as sheet:
        while chunk := sheet.read(_CHUNK):
            places = _PLACE.findall(tail + chunk)
            if places:
                columns, numbers = map(set, zip(*places, strict=True))
                width = max(width, *map(_column_number, columns))
                rows = max(rows, *map(int, numbers))
            if rows * width > MAX_CELLS:
                raise _Refused(TOO_BIG)
            tail = chunk[-16:]


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - ord("A") + 1
    return number


if __name__ == "__main__":
    main()
