"""One plain sentence for what a schema found wrong."""

from collections.abc import Callable, Iterable
from typing import Any

from jsonschema.exceptions import ValidationError

from batchboard.strict_json import compact
from dispatch.contract_rules import additional

_LONGEST_VALUE = 60
_LONGEST_PROBLEM = 300
_MOST_CHOICES = 12
TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "text",
}


def describe(error: ValidationError, *, with_path: bool = True) -> str:
    """The error as "path: what is wrong", at most 300 characters and on one line."""
    say = _SENTENCES.get(str(error.validator))
    sentence = say(error) if say else error.message
    if error.validator is None:
        sentence = f"{_value(error.instance)} is not allowed"
    path = path_text(error.absolute_path, outermost="") if with_path else ""
    return _cut(f"{path}: {sentence}" if path else sentence, _LONGEST_PROBLEM)


def path_text(path: Iterable[str | int], outermost: str = "its outermost level") -> str:
    """The path as people write it: prices[2].change."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".") or outermost


def _cut(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _value(value: object) -> str:
    return _cut(f"'{value}'" if isinstance(value, str) else compact(value), _LONGEST_VALUE)


def _values(values: Iterable[object]) -> str:
    all_of_them = list(values)
    some = ", ".join(map(_value, all_of_them[:_MOST_CHOICES]))
    return some + (", …" if len(all_of_them) > _MOST_CHOICES else "")


def _required(error: ValidationError) -> str:
    present: Any = error.instance
    return "no " + ", no ".join(name for name in _list(error) if name not in present)


def _enum(error: ValidationError) -> str:
    return f"{_value(error.instance)} is not one of {_values(_list(error))}"


def _const(error: ValidationError) -> str:
    return f"{_value(error.instance)} is not {_value(error.validator_value)}"


def _type(error: ValidationError) -> str:
    kinds: Any = error.validator_value
    names = [kinds] if isinstance(kinds, str) else kinds
    wanted = " or ".join(TYPES.get(name, name) for name in names)
    return f"{_value(error.instance)} is not {wanted}"


def _additional(error: ValidationError) -> str:
    instance: Any = error.instance
    schema: Any = error.schema
    return f"unexpected {_values(additional(instance, schema))}"


def _list(error: ValidationError) -> list[Any]:
    values: Any = error.validator_value
    return list(values)


def _bound(words: str) -> Callable[[ValidationError], str]:
    return lambda error: f"{_value(error.instance)} {words} {_value(error.validator_value)}"


def _length(words: str, unit: str) -> Callable[[ValidationError], str]:
    def say(error: ValidationError) -> str:
        bound: Any = error.validator_value
        instance: Any = error.instance
        return f"{words} {bound:,} {unit if bound != 1 else unit.removesuffix('s')}" + (
            f", has {len(instance):,}"
        )

    return say


_SENTENCES: dict[str, Callable[[ValidationError], str]] = {
    "additionalProperties": _additional,
    "const": _const,
    "enum": _enum,
    "exclusiveMaximum": _bound("is not less than"),
    "exclusiveMinimum": _bound("is not more than"),
    "maxItems": _length("must have at most", "entries"),
    "maxLength": _length("must have at most", "characters"),
    "maxProperties": _length("must have at most", "fields"),
    "maximum": _bound("is more than"),
    "minItems": _length("must have at least", "entries"),
    "minLength": _length("must have at least", "characters"),
    "minProperties": _length("must have at least", "fields"),
    "minimum": _bound("is less than"),
    "required": _required,
    "type": _type,
    "uniqueItems": lambda _error: "has the same entry twice",
}
