"""The output contract: the JSON Schema (draft 2020-12) that an answer must meet.

Nothing is ever fetched: only references within the schema (`#…`) are allowed. `format` is a note
to the reader and checks nothing, as the draft has it.

Patterns are matched in bounded time (`contract_patterns`), and so many rules at most are applied to
one answer (`contract_rules`).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from typing import Any, Protocol, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from batchboard.strict_json import MAX_DEPTH, JsonError, Value, depth, parse
from dispatch import contract_patterns
from dispatch.contract_problem import TYPES, describe, path_text
from dispatch.contract_rules import A_CHECK, BOUNDED, TooMuch, allowing

MAX_SCHEMA_BYTES = 200_000
MAX_TEXT_CHARACTERS = 4_000_000

_DRAFT_NAME = "https://json-schema.org/draft/2020-12/schema"
# All that the draft's own schema refers to comes with the library.
_DRAFT = Draft202012Validator(Draft202012Validator.META_SCHEMA)
_MOST_ERRORS = 100
_A_PROBE = 20_000
_PROBES: tuple[Value, ...] = (None, "", 0, [], {})
_Path: TypeAlias = tuple[str | int, ...]
_REFERENCES = ("$ref", "$dynamicRef")
_IN_ONE = frozenset(
    {"additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"}
    | {"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
)
_IN_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_IN_MAP = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})


class ContractError(ValueError):
    """The schema cannot be a contract; str() says why and where."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer meets the contract: its value if so, else one plain sentence."""

    ok: bool
    value: Value = None
    problem: str | None = None


class _Validator(Protocol):
    def iter_errors(self, instance: object) -> Iterator[ValidationError]: ...


class Contract:
    """A compiled schema; made by `compile` and safe to share between threads."""

    def __init__(self, digest: str, validator: _Validator) -> None:
        self.digest = digest
        self._validator = validator

    def check(self, text: str) -> Verdict:
        """Judge an answer: strict JSON, with any white space around it, that meets the schema."""
        if not text.strip():
            return Verdict(False, problem="The answer is empty")
        if len(text) > MAX_TEXT_CHARACTERS:
            return Verdict(False, problem=f"The answer is over {MAX_TEXT_CHARACTERS:,} characters")
        try:
            value = parse(text)
        except JsonError as broken:
            return Verdict(False, problem=_not_json(broken))
        problem = self._problem(value)
        return Verdict(True, value) if problem is None else Verdict(False, problem=problem)

    def _problem(self, value: Value) -> str | None:
        try:
            with allowing(A_CHECK):
                error = best_match(islice(self._validator.iter_errors(value), _MOST_ERRORS))
                return None if error is None else describe(error)
        except TooMuch:
            return "The contract asks for too many checks of this answer"
        except RecursionError:
            return "The contract refers to itself without end for this answer"
        except OverflowError:
            return "A number is too large to check"


def compile(schema: object) -> Contract:
    """The contract that a schema makes; ContractError if it cannot be one.

    Equal schemas give the same Contract while it is among the last used.
    """
    if not isinstance(schema, Mapping | bool):
        raise ContractError("A contract must be a JSON Schema: an object, or true or false.")
    if depth(schema) > MAX_DEPTH:
        raise ContractError(f"The contract is nested over {MAX_DEPTH} levels deep.")
    try:
        text = json.dumps(schema, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        raise ContractError(
            "The contract holds a value that JSON does not know, such as a date or NaN."
        ) from None
    if len(text.encode()) > MAX_SCHEMA_BYTES:
        raise ContractError(f"The contract is over {MAX_SCHEMA_BYTES:,} bytes long.")
    return _compiled(_Source(sha256(text.encode()).hexdigest(), text))


@dataclass(frozen=True, slots=True)
class _Source:
    """A schema as canonical JSON; its digest alone tells it from another."""

    digest: str
    text: str = field(compare=False)


@lru_cache(maxsize=128)
def _compiled(source: _Source) -> Contract:
    schema = json.loads(source.text)
    _check_against_draft(schema, ())
    _check_parts(schema)
    if isinstance(schema, dict):
        # Every reference is local, so the schema's own address means nothing.
        schema.pop("$id", None)
    validator = BOUNDED(schema, registry=Registry())
    for probe in _PROBES:
        try:
            with allowing(_A_PROBE):
                next(validator.iter_errors(probe), None)
        except RecursionError:
            raise ContractError("The contract refers to itself without end.") from None
        except TooMuch:
            raise ContractError(
                "The contract refers to the same parts again and again: checking a single value "
                f"takes over {_A_PROBE:,} steps."
            ) from None
    return Contract(source.digest, validator)


def _check_against_draft(schema: object, path: _Path) -> None:
    if wrong := best_match(_DRAFT.iter_errors(schema)):
        where = path_text([*path, *wrong.absolute_path])
        why = describe(wrong, with_path=False)
        if wrong.absolute_path and wrong.absolute_path[-1] == "type":
            why = f"a type is one of {', '.join(TYPES)}, or a list of them"
        raise ContractError(f"The contract is not a valid JSON Schema at {where}: {why}.")


def _check_parts(schema: Any) -> None:
    """Every part that can be reached: references lead somewhere within, patterns work."""
    root = Registry().resolver_with_root(DRAFT202012.create_resource(schema))
    seen: set[int] = set()
    words: set[str] = set()
    parts: list[tuple[Any, _Path]] = [(schema, ())]
    references: list[tuple[str, _Path]] = []
    while parts or references:
        if not parts:
            # All that the draft looks at is seen by now; a reference may lead elsewhere.
            reference, path = references.pop()
            target = _target(root, reference, path)
            if id(target) not in seen:
                _check_against_draft(target, (reference,))
                parts.append((target, (reference,)))
            continue
        part, path = parts.pop()
        if isinstance(part, dict) and id(part) not in seen:
            seen.add(id(part))
            words.update(part)
            _check_keywords(part, path)
            parts.extend(_inner(part, path))
            references.extend((part[word], (*path, word)) for word in _REFERENCES if word in part)
    if {"patternProperties", "unevaluatedProperties"} <= words:
        raise ContractError(
            "The contract has both patternProperties and unevaluatedProperties, which are not "
            "checked together. Use additionalProperties in place of unevaluatedProperties."
        )


def _check_keywords(part: dict[str, Any], path: _Path) -> None:
    if path and "$id" in part:
        raise ContractError(
            f"The contract has a $id at {path_text(path)}: only its outermost schema may have one."
        )
    if part.get("$schema", _DRAFT_NAME).rstrip("#") != _DRAFT_NAME:
        raise ContractError(
            f"The contract names {part['$schema']} as its $schema. "
            f"Only draft 2020-12 is known: {_DRAFT_NAME}."
        )
    if "pattern" in part:
        _check_pattern(part["pattern"], (*path, "pattern"))
    for pattern in part.get("patternProperties", ()):
        _check_pattern(pattern, (*path, "patternProperties"))


def _check_pattern(pattern: str, path: _Path) -> None:
    try:
        contract_patterns.check(pattern)
    except contract_patterns.PatternError as wrong:
        raise ContractError(f"The pattern '{pattern[:80]}' at {path_text(path)} {wrong}.") from None


def _target(root: Any, reference: str, path: _Path) -> Any:
    where = f"The reference '{reference[:80]}' at {path_text(path)}"
    if not reference.startswith("#"):
        raise ContractError(
            f"{where} leads out of the contract. Only references within it (#…) are allowed: "
            "copy what it needs into $defs."
        )
    try:
        target = root.lookup(reference).contents
    except (Unresolvable, ValueError, TypeError, LookupError):
        raise ContractError(f"{where} leads nowhere.") from None
    return target


def _inner(part: dict[str, Any], path: _Path) -> Iterator[tuple[Any, _Path]]:
    for keyword, value in part.items():
        if keyword in _IN_ONE:
            yield value, (*path, keyword)
        elif keyword in _IN_LIST:
            yield from ((inner, (*path, keyword, place)) for place, inner in enumerate(value))
        elif keyword in _IN_MAP:
            yield from ((inner, (*path, keyword, name)) for name, inner in value.items())


def _not_json(broken: JsonError) -> str:
    if broken.line is None:
        return f"Not valid JSON: {broken.problem}"
    return f"Not valid JSON: {broken.problem} at line {broken.line}, column {broken.column}"
