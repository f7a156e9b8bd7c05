"""Long text that others wrote: the beginning at first, all of it when asked for."""

import json
from dataclasses import dataclass
from typing import Any

SHOWN_CHARACTERS = 20_000


@dataclass(frozen=True)
class Excerpt:
    """A text, or its beginning; `name` asks for all of it."""

    name: str
    text: str
    total: int

    @property
    def is_cut(self) -> bool:
        return len(self.text) < self.total


def excerpt(name: str, text: str, whole: bool = False) -> Excerpt:
    return Excerpt(name, text if whole else text[:SHOWN_CHARACTERS], len(text))


def as_text(value: Any) -> str:
    """A value as a person reads it: text as it is, anything else as indented JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
