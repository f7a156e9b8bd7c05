"""The rules of JSON Schema as a contract applies them: each is counted, so that no schema and no
answer can keep a worker busy for ever, and those that could be slow by themselves are quick.

A schema of forty lines whose parts each refer to the next one twice asks for 2⁴⁰ checks; one over
a list that "has no entry twice" compares each pair. Whoever wrote it, the calls of all batches
would stand still behind it, lose their leases and be paid for again.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from batchboard.strict_json import compact
from dispatch import contract_patterns

MAX_MATCHED_CHARACTERS = 10_000
A_CHECK = 200_000
"""Rules that may be applied to one answer: about a second of work."""

DEAR = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "contains"})
A_DEAR_ONE = 20
"""What a rule counts for that applies other schemas to the same value."""

Rule = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


class TooMuch(Exception):
    """More rules would have to be applied than are allowed."""


class _Left(threading.local):
    rules = 0


_left = _Left()


@contextmanager
def allowing(rules: int) -> Iterator[None]:
    """Let so many rules be applied within; one more raises TooMuch."""
    _left.rules = rules
    try:
        yield
    finally:
        _left.rules = 0


def _spend(rule: Any, value: Any, price: int = 1) -> None:
    """A rule over many names, or over many values, counts for more than one."""
    _left.rules -= price + (_length(rule) + _length(value)) // 16
    if _left.rules < 0:
        raise TooMuch


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list | dict) else 0


def _counted(keyword: str, check: Rule) -> Rule:
    price = A_DEAR_ONE if keyword in DEAR else 1

    def counted(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        _spend(rule, value, price)
        yield from check(validator, rule, value, schema) or ()

    return counted


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if not isinstance(value, str):
        return
    if _is_too_long(pattern, value):
        yield _too_long(value)
    elif not contract_patterns.matches(pattern, value):
        yield ValidationError(f"'{value[:60]}' does not match {pattern[:80]}")


def _pattern_properties(
    validator: Any, rule: dict[str, Any], value: Any, _schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    for pattern, inner in rule.items():
        _spend(value, None)
        for name, held in value.items():
            if _is_too_long(pattern, name):
                yield _too_long(name)
            elif contract_patterns.matches(pattern, name):
                yield from validator.descend(held, inner, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, rule: Any, value: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    extra = additional(value, schema)
    if isinstance(rule, dict):
        for name in extra:
            yield from validator.descend(value[name], rule, path=name)
    elif not rule and extra:
        yield ValidationError("unexpected fields")


def additional(value: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """The fields that a schema neither names nor has a pattern for."""
    named, patterns = schema.get("properties", ()), list(schema.get("patternProperties", ()))
    if patterns:
        _spend(patterns, None)
    return [
        name
        for name in value
        if name not in named
        and not any(
            not _is_too_long(pattern, name) and contract_patterns.matches(pattern, name)
            for pattern in patterns
        )
    ]


def _unique_items(
    _validator: Any, rule: Any, value: Any, _schema: Any
) -> Iterator[ValidationError]:
    if rule and isinstance(value, list) and len({_same(one) for one in value}) < len(value):
        yield ValidationError("has the same entry twice")


def _enum(validator: Any, choices: list[Any], value: Any, schema: Any) -> Iterator[ValidationError]:
    # A text equals nothing but itself, and is by far the most usual.
    if isinstance(value, str):
        if value not in choices:
            yield ValidationError("is none of the choices")
    else:
        _left.rules -= len(choices)
        yield from Draft202012Validator.VALIDATORS["enum"](validator, choices, value, schema)


def _same(value: Any) -> str:
    """A text that two values share exactly where JSON Schema holds them for equal: 1 and 1.0 are,
    1 and true are not, and the order of fields means nothing."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, dict):
        fields = sorted(value.items())
        return "{" + ",".join(f"{compact(name)}:{_same(held)}" for name, held in fields) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_same, value)) + "]"
    return compact(value)


def _is_too_long(pattern: str, text: str) -> bool:
    return len(text) > MAX_MATCHED_CHARACTERS or contract_patterns.is_too_long(pattern, text)


def _too_long(text: str) -> ValidationError:
    return ValidationError(
        f"'{text[:40]}…' has {len(text):,} characters, too many for a pattern", validator="pattern"
    )


_OWN: dict[str, Rule] = {
    "additionalProperties": _additional_properties,
    "enum": _enum,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "uniqueItems": _unique_items,
}
BOUNDED: Any = extend(
    Draft202012Validator,
    {
        keyword: _counted(keyword, _OWN.get(keyword, check))
        for keyword, check in Draft202012Validator.VALIDATORS.items()
    },
)
"""The validator of contracts; it works within `allowing` alone."""
