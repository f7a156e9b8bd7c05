"""Numbers and lists as sentences hold them."""

from collections.abc import Sequence


def many(number: int, one: str, more: str) -> str:
    """1 item; 2,000 items."""
    return f"{number:,} {one if number == 1 else more}"


def listed(words: Sequence[str]) -> str:
    """A; A and B; A, B and C; nothing of none."""
    return ", ".join(words[:-1]) + f" and {words[-1]}" if len(words) > 1 else "".join(words)
