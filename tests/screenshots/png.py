"""A screenshot with a palette: a third of the bytes, and the eye sees no difference."""

import struct
import zlib
from collections import Counter

Colour = tuple[int, int, int]
HEAD = b"\x89PNG\r\n\x1a\n"
MOST = 256
ALIKE = 40
"""Squared distance below which a rarer colour takes the place of a commoner one."""


def small(png: bytes) -> bytes:
    """The same picture in at most 256 colours. Takes opaque 8-bit RGB or RGBA, not interlaced."""
    width, height, rows = _read(png)
    found = _palette(Counter(colour for row in rows for colour in row))
    palette = sorted(set(found.values()))
    code = {colour: palette.index(kept) for colour, kept in found.items()}
    lines = b"".join(b"\0" + bytes(code[colour] for colour in row) for row in rows)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", b"".join(map(bytes, palette))),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    )
    return HEAD + b"".join(_chunk(kind, data) for kind, data in chunks)


def _palette(counts: Counter[Colour]) -> dict[Colour, Colour]:
    """For each colour the one that is kept for it: common ones first, unless they are alike."""
    kept: list[Colour] = []
    found: dict[Colour, Colour] = {}
    for colour, _ in counts.most_common():
        near = min(kept, key=lambda other: _distance(colour, other), default=None)
        if near is None or (len(kept) < MOST and _distance(colour, near) > ALIKE):
            kept.append(colour)
            near = colour
        found[colour] = near
    return found


def _distance(one: Colour, other: Colour) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def _read(png: bytes) -> tuple[int, int, list[list[Colour]]]:
    assert png.startswith(HEAD)
    packed, place = b"", len(HEAD)
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        kind, data = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colours, *_, interlaced = struct.unpack(">IIBBBBB", data)
            assert depth == 8
            assert colours in {2, 6}
            assert not interlaced
        elif kind == b"IDAT":
            packed += data
        place += length + 12
    channels = 3 if colours == 2 else 4
    raw, stride = zlib.decompress(packed), width * channels
    rows, above = [], bytearray(stride)
    for start in range(0, len(raw), stride + 1):
        line = bytearray(raw[start + 1 : start + 1 + stride])
        _unfilter(raw[start], line, above, channels)
        rows.append(list(zip(*(line[n::channels] for n in range(3)), strict=True)))
        above = line
    return width, height, rows


def _unfilter(kind: int, line: bytearray, above: bytearray, channels: int) -> None:
    for n in range(len(line) if kind else 0):
        left = line[n - channels] if n >= channels else 0
        up = above[n]
        corner = above[n - channels] if n >= channels else 0
        guess = (0, left, up, (left + up) // 2, _paeth(left, up, corner) if kind == 4 else 0)[kind]
        line[n] = (line[n] + guess) & 0xFF


def _paeth(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda each: abs(guess - each))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
