"""Whole numbers as addresses and forms hold them."""

LARGEST = 2**63 - 1
"""What a database keeps as the number of a row."""


def whole_number(text: str) -> int | None:
    """The number that plain digits make; None for all else, and for what no row can have."""
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        return None
    return int(text) if int(text) <= LARGEST else None
