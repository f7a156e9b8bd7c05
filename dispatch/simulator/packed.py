"""Answers to prompts that hold several items, each in an `<item id="…">` element: an entry for
each, with faults where options ask for them."""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

from .options import Options

_ELEMENT = re.compile(r'<item id="([^"]*)">(.*?)</item>', re.DOTALL)

Write = Callable[[str, dict[str, Any]], Any]


def elements(text: str) -> list[tuple[str, str]]:
    """The items that a prompt holds: the id and the content of each."""
    return [(found[1], found[2].strip()) for found in _ELEMENT.finditer(text)]


def entry_schema(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """What a result is to be like, where the schema asks for a list of ids with results."""
    items = ((schema or {}).get("properties") or {}).get("items") or {}
    entry = (items.get("items") or {}).get("properties") or {}
    return entry.get("result") if {"id", "result"} <= set(entry) else None


def packed_text(
    found: list[tuple[str, str]],
    result: dict[str, Any],
    write: Write,
    options: Options,
    random: Random,
) -> str:
    """The whole answer. `write(content, schema)` makes one item's result."""
    entries = []
    for id, content in found:
        if random.random() < options.pack_missing:
            continue
        entry = {"id": id, "result": write(content, result)}
        entries.append(entry)
        if random.random() < options.pack_double:
            entries.append({"id": id, "result": write(f"{content} again", result)})
        if random.random() < options.pack_invent:
            entries.append({"id": f"{id}x", "result": write(f"{content} invented", result)})
    if random.random() < options.pack_shuffle:
        random.shuffle(entries)
    return json.dumps({"items": entries}, ensure_ascii=False)
