"""A task type as TOML text that `task_file` reads back to the same definition."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from batchboard.task_definition import TaskDefinition

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = re.compile(r'[\x00-\x08\x0b-\x1f\x7f"\\]')
_NAMED = {'"': '\\"', "\\": "\\\\", "\r": "\\r", "\f": "\\f"}


class NotWritable(ValueError):
    """The contract holds a null, which TOML does not know; str() says so."""


def dump(definition: TaskDefinition) -> str:
    """The text. Raises NotWritable."""
    lines = [
        f"name = {_text(definition.name)}",
        f"model = {_text(definition.model)}",
        f"max_tokens = {definition.max_tokens}",
    ]
    if definition.key:
        lines.append(f"key = {_text(definition.key)}")
    if definition.check:
        lines += ["check = [", *(f"  {_text(line)}," for line in definition.check), "]"]
    if definition.system:
        lines.append(f"system = {_long(definition.system)}")
    lines.append(f"prompt = {_long(definition.prompt)}")
    if definition.contract is not None:
        lines += _table("contract", definition.contract)
    return "\n".join(lines) + "\n"


def _table(path: str, table: Mapping[str, Any]) -> Iterator[str]:
    """A table and its tables below it: values come first, as TOML wants them."""
    yield ""
    yield f"[{path}]"
    for name, value in table.items():
        if not isinstance(value, dict):
            yield f"{_key(name)} = {_value(value)}"
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _table(f"{path}.{_key(name)}", value)


def _value(value: Any) -> str:
    if value is None:
        raise NotWritable(
            "The contract holds null, which TOML does not know. Write it without null,"
            " or copy the contract as JSON."
        )
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, float):
        text = repr(value)
        return text if any(mark in text for mark in ".en") else f"{text}.0"
    return json.dumps(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    return '"' + _ESCAPED.sub(_escape, text).replace("\n", "\\n") + '"'


def _long(text: str) -> str:
    """On lines of its own where it has several; the break after the quotes is not part of it."""
    if "\n" not in text:
        return _text(text)
    escaped = _ESCAPED.sub(lambda found: found[0] if found[0] == '"' else _escape(found), text)
    # Three quotes in a row would end the text, and so would one before those that do.
    escaped = re.sub(r'"(?="|\Z)', r'\\"', escaped)
    return f'"""\n{escaped}"""'


def _escape(found: re.Match[str]) -> str:
    return _NAMED.get(found[0]) or f"\\u{ord(found[0]):04X}"
