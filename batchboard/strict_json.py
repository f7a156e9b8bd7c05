"""JSON as the standard has it: no NaN, no field twice, nothing that a database cannot keep."""

import json
import re
from collections import Counter
from typing import Any, NoReturn, TypeAlias

Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"

MAX_DEPTH = 64

_COMPLAINTS = (
    ("Unterminated string", "a quote is missing"),
    ("Invalid control character", "a text holds a raw line break or control character"),
    ("Invalid \\", "a backslash is followed by a wrong character"),
    ("Expecting ',' delimiter", "a comma or a closing bracket is missing"),
    ("Expecting ':' delimiter", "a colon is missing"),
    ("Expecting property name", "a field name in double quotes is missing"),
    ("Illegal trailing comma", "there is a comma too many"),
    ("Expecting value", "a value is missing"),
    ("Extra data", "there is more text after the end"),
)
_UNSTORABLE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])|[\ud800-\udfff]")


class JsonError(ValueError):
    """`problem` is a clause ("a quote is missing"); line and column count from 1."""

    def __init__(self, problem: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        self.column = column


def parse(text: str) -> Value:
    """The value that `text` holds, with any white space around it; JsonError otherwise."""
    try:
        value: Value = _DECODER.decode(text)
    except json.JSONDecodeError as broken:
        raise JsonError(_complaint(broken.msg), broken.lineno, broken.colno) from None
    except RecursionError:
        raise JsonError(_too_deep()) from None
    except JsonError:
        raise
    except ValueError:
        raise JsonError("a number has too many digits") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and depth(value) > MAX_DEPTH:
        raise JsonError(_too_deep())
    if _UNSTORABLE.search(text):
        _refuse_unstorable(value)
    return value


def compact(value: object) -> str:
    """`value` as JSON on one line without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def depth(value: object) -> int:
    """How many lists and objects lie inside one another; 0 for a plain value."""
    level, layer = 0, [value]
    while layer := [inner for outer in layer for inner in _inside(outer)]:
        level += 1
        if level > MAX_DEPTH:
            break
    return level


def _inside(value: object) -> list[object]:
    # An empty list still counts as a level, so that "[[]]" is two deep.
    if isinstance(value, dict):
        return list(value.values()) or [None]
    if isinstance(value, list):
        return value or [None]
    return []


def _complaint(message: str) -> str:
    for start, plain in _COMPLAINTS:
        if message.startswith(start):
            return plain
    return message.lower()


def _too_deep() -> str:
    return f"it is nested over {MAX_DEPTH} levels deep"


def _refuse_unstorable(value: Value) -> None:
    written = compact(value)
    if "\\u0000" in written.replace("\\\\", ""):
        raise JsonError("a text holds a NUL character")
    try:
        written.encode()
    except UnicodeEncodeError:
        raise JsonError("a text holds half of a surrogate pair") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counted = Counter(name for name, _ in pairs)
        twice = next(name for name, times in counted.items() if times > 1)
        raise JsonError(f"the field '{twice[:80]}' is there twice")
    return found


def _number(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise JsonError(f"{digits[:40]} is too large a number")
    return number


def _constant(name: str) -> NoReturn:
    raise JsonError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_number, parse_constant=_constant
)
