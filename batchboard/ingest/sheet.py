"""The first sheet of an XLSX workbook as lists of cells.

A workbook is unpacked and laid out whole by a library in another language, which ends its process
where memory runs out: a workbook of a few kilobytes can ask for any amount of it. So it is read in
a process of its own, with a bound on its memory, and a file that ends it is refused.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import IO

from batchboard.ingest import sheet_process
from batchboard.ingest.error import IngestError
from batchboard.ingest.sheet_process import BROKEN, DONE, LOCKED, MAX_CELLS, MAX_FILE_BYTES

OLD_OR_LOCKED_MARK = b"\xd0\xcf\x11\xe0"


def cells(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """The number of each row of the sheet, from 1, and its cells without the blank last ones.

    Dates become ISO text, whole numbers lose their ".0", and formulas give the value that was saved
    with them. Nothing is given of a workbook that cannot be read whole.
    """
    if len(content) > MAX_FILE_BYTES:
        raise _too_big()
    if content.startswith(OLD_OR_LOCKED_MARK):
        raise _locked()
    with subprocess.Popen(  # noqa: S603 - our own file, and what is untrusted goes to its stdin
        [sys.executable, "-I", sheet_process.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        try:
            _give(content, reader.stdin)
            yield from _taken(reader.stdout)
        finally:
            # Whoever wants only the first rows leaves the others unread.
            reader.kill()


def _give(content: bytes, pipe: IO[bytes]) -> None:
    try:
        pipe.write(content)
        pipe.close()
    except BrokenPipeError:
        raise _too_big() from None


def _taken(pipe: IO[bytes]) -> Iterator[tuple[int, list[str]]]:
    said = ""
    for number, line in enumerate(pipe, start=1):
        found = json.loads(line) if line.endswith(b"\n") else ""
        if isinstance(found, str):
            said = found
            break
        yield number, found
    if said != DONE:
        raise {BROKEN: _broken, LOCKED: _locked}.get(said, _too_big)()


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
        f"over more than {MAX_CELLS:,} places, or its texts fill the memory.",
        hint="Save the sheet as CSV, which is read without a limit on its size.",
    )
