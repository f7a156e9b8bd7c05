"""The lines of a stream as text, with bounds that no file can pass."""

from collections.abc import Iterator
from typing import BinaryIO

from batchboard.ingest.error import IngestError

MAX_CELL_BYTES = 1_000_000
MAX_RECORD_BYTES = 8_000_000
_CHUNK = 1 << 18
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class RecordTooLong(Exception):
    """What was read since `begin` passes MAX_RECORD_BYTES; `Lines.record` holds its start."""


class Lines:
    """Iterates over lines with their ends (LF, CRLF or CR); blank ones are there as well.

    `number` is the line given last. A record is what was given since the last `begin`.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._start = self._clean_start(stream.read(_CHUNK))
        self.head = self._start
        self.number = 0
        self.record: list[str] = []
        self.record_bytes = 0

    def begin(self) -> None:
        """A new record starts with the next line."""
        self.record.clear()
        self.record_bytes = 0

    def rest(self, most: int) -> bytes:
        """What is left of the stream, at most `most` bytes and one more; for binary formats."""
        return self._start + self._stream.read(max(most + 1 - len(self._start), 0))

    def __iter__(self) -> Iterator[str]:
        offset = len(_UTF8_MARK) if self._marked else 0
        for raw in self._raw_lines():
            self.number += 1
            self.record_bytes += len(raw)
            text = self._text(raw, offset)
            offset += len(raw)
            self.record.append(text)
            if self.record_bytes > MAX_RECORD_BYTES:
                raise RecordTooLong
            yield text

    def _raw_lines(self) -> Iterator[bytes]:
        """Lines as bytes; one that is far too long is cut, since it is refused anyway."""
        chunk, tail = self._start, b""
        self._start = b""
        while chunk:
            # bytes.splitlines knows LF, CRLF and CR only; str.splitlines knows too many.
            lines = (tail + chunk).splitlines(keepends=True)
            # The last line may go on in the next chunk, and a CR may be half of a CRLF.
            tail = lines.pop() if not lines[-1].endswith(b"\n") else b""
            yield from lines
            if len(tail) > MAX_RECORD_BYTES + _CHUNK:
                break
            chunk = self._stream.read(_CHUNK)
        if tail:
            yield tail

    def _text(self, raw: bytes, offset: int) -> str:
        if b"\0" in raw:
            raise IngestError(
                f"Line {self.number} holds a NUL byte, so this is not a plain text file.",
                line=self.number,
                hint="Save it as UTF-8 text.",
            )
        try:
            return raw.decode()
        except UnicodeDecodeError as wrong:
            if len(raw) > MAX_RECORD_BYTES and wrong.start > MAX_RECORD_BYTES:
                return raw[: wrong.start].decode()
            raise IngestError(
                f"Line {self.number} is not UTF-8 text: byte {offset + wrong.start + 1:,} of the "
                f"file is 0x{raw[wrong.start]:02x}.",
                line=self.number,
                hint='Save the file with the encoding "UTF-8".',
            ) from None

    def _clean_start(self, start: bytes) -> bytes:
        if start.startswith(_UTF16_MARKS):
            raise IngestError(
                "The file is UTF-16 text.",
                line=1,
                hint='Save it with the encoding "UTF-8".',
            )
        self._marked = start.startswith(_UTF8_MARK)
        return start.removeprefix(_UTF8_MARK)
