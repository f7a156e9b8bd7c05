"""Prompt templates: text with `{{ column }}` placeholders, filled from one item's data.

There is no logic and no way to reach into a value, and what a value holds is never read as a
template again. Braces that hold no placeholder, as in a JSON example, stay text.
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from batchboard.strict_json import compact

_PLACEHOLDER = re.compile(r"\{\{([^{}\r\n]*)\}\}")


class TemplateError(ValueError):
    """The template cannot be used; str() says why and where."""


def columns(template: str) -> frozenset[str]:
    """The columns that the template names, at least one; TemplateError otherwise."""
    named = frozenset(_pieces(template)[1::2])
    if not named:
        raise TemplateError(
            "The template names no column, so every item would get the same prompt. "
            "Write a column's name in double braces: {{ title }}."
        )
    return named


def render(template: str, data: Mapping[str, object]) -> str:
    """The prompt of one item.

    A missing value and None become "", text stays as it is, anything else becomes compact JSON.
    """
    return "".join(
        as_text(data.get(piece)) if place % 2 else piece
        for place, piece in enumerate(_pieces(template))
    )


def parts(template: str, data: Mapping[str, object]) -> list[tuple[str, bool]]:
    """The prompt of one item in pieces, each with whether it came from the item."""
    return [
        (as_text(data.get(piece)), True) if place % 2 else (piece, False)
        for place, piece in enumerate(_pieces(template))
        if piece
    ]


def weights(template: str) -> tuple[int, Counter[str]]:
    """UTF-8 bytes of the text around the placeholders, and how often each column is named."""
    pieces = _pieces(template)
    return sum(len(text.encode()) for text in pieces[::2]), Counter(pieces[1::2])


def as_text(value: object) -> str:
    """What a value becomes inside a prompt."""
    if value is None:
        return ""
    return value if isinstance(value, str) else compact(value)


@lru_cache(maxsize=64)
def _pieces(template: str) -> tuple[str, ...]:
    """Text and column names in turn; the names stand at the odd places."""
    pieces = _PLACEHOLDER.split(template)
    start = 0
    for place, piece in enumerate(pieces):
        if place % 2:
            if not piece.strip():
                raise TemplateError(
                    f"The placeholder at {_where(template, start)} is empty. "
                    "Write a column's name between its braces."
                )
            pieces[place] = piece.strip()
            start += len(piece) + len("{{}}")
        else:
            if "{{" in piece:
                raise TemplateError(
                    f"The placeholder that opens at {_where(template, start + piece.index('{{'))} "
                    "is not closed. End it with }} on the same line."
                )
            start += len(piece)
    return tuple(pieces)


def _where(template: str, offset: int) -> str:
    line = template.count("\n", 0, offset) + 1
    column = offset - template.rfind("\n", 0, offset)
    return f"line {line}, column {column}"
