"""The first sheet of an XLSX workbook as lists of cells."""

import re
import zipfile
import zlib
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from io import BytesIO

from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from batchboard.ingest.error import IngestError

MAX_FILE_BYTES = 100_000_000
MAX_UNPACKED_BYTES = 500_000_000
MAX_CELLS = 20_000_000

OLD_OR_LOCKED_MARK = b"\xd0\xcf\x11\xe0"
_CHUNK = 1 << 20
_PLACE = re.compile(rb"""["']([A-Za-z]{1,3})([0-9]{1,7})["']""")


def cells(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """The number of each row of the sheet, from 1, and its cells without the blank last ones.

    A workbook is unpacked whole, so its size is bounded. Dates become ISO text, whole numbers
    lose their ".0", and formulas give the value that was saved with them.
    """
    if len(content) > MAX_FILE_BYTES:
        raise _too_big()
    if content.startswith(OLD_OR_LOCKED_MARK):
        raise _locked()
    _refuse_bomb(content)
    try:
        # The sheet is read whole on purpose: a broken one fails here and not between two rows.
        rows = CalamineWorkbook.from_filelike(BytesIO(content)).get_sheet_by_index(0)
        table = rows.to_python(skip_empty_area=False)
    except PasswordError:
        raise _locked() from None
    except (CalamineError, ValueError, OSError, IndexError):
        raise _broken() from None
    except BaseException as panic:
        # A panic in calamine's Rust code is no Exception; it must not end the process.
        if type(panic).__name__ != "PanicException":
            raise
        raise _broken() from None
    for number, row in enumerate(table, start=1):
        texts = [_text(cell) for cell in row]
        while texts and not texts[-1].strip():
            texts.pop()
        yield number, texts


def _text(cell: float | str | bool | date | datetime | time | timedelta) -> str:
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
                raise _too_big()
            for part in parts:
                if part.filename.lower().startswith("xl/worksheets/"):
                    _refuse_wide(package, part)
    except IngestError:
        raise
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, OSError, EOFError):
        raise _broken() from None
    except (NotImplementedError, RuntimeError, ValueError):
        raise _broken() from None


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
                raise _too_big()
            tail = chunk[-16:]


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - ord("A") + 1
    return number


def _broken() -> IngestError:
    return IngestError(
        "The file is not a readable XLSX workbook.",
        hint="Open it in a spreadsheet program and save it again, or save it as CSV.",
    )


def _locked() -> IngestError:
    return IngestError(
        "The workbook is protected by a password or in the old XLS format.",
        hint="Save it without a password as XLSX or CSV.",
    )


def _too_big() -> IngestError:
    return IngestError(
        f"The workbook is too large: over {MAX_FILE_BYTES // 1_000_000} MB, or its cells spread "
        f"over more than {MAX_CELLS:,} places.",
        hint="Save the sheet as CSV, which is read without a limit on its size.",
    )
