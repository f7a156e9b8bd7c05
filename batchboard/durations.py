"""Lengths of time as a person types and reads them: whole seconds, up to a year."""

import re

UNITS = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
PART = re.compile(r"([\d,]+(?:\.\d+)?)\s*([a-z]*)")
MOST_SECONDS = 366 * 86400


def read(text: str) -> int | None:
    """Seconds of "90", "90 s", "10 min", "2 h", "1 h 30 min"; None where it is none of them."""
    text = text.strip().lower()
    parts = list(PART.finditer(text))
    if not parts or PART.sub("", text).strip():
        return None
    total = 0.0
    for part in parts:
        if part[2] not in UNITS:
            return None
        total += float(part[1].replace(",", "")) * UNITS[part[2]]
    return round(total) if 1 <= total <= MOST_SECONDS else None


def in_words(seconds: int) -> str:
    """A duration as a person types it, and as `read` reads it."""
    if seconds < 120 or (seconds < 3600 and seconds % 60):
        return f"{seconds} s"
    minutes = -(-seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"
