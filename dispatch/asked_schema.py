"""The contract as it is asked of the provider: a schema that it enforces, and the rest in words.

`anthropic.transform_schema` keeps what the provider can enforce. It raises for some schemas that
are valid (a list of types, no type at all), and drops what stands beside a `$ref` or a second
combination without a word. So a contract is first written in the form that it takes, and whatever
it would drop goes into the `description` of the part where it stood. What is asked may be narrower
than the contract (no property that is not named, for one), so an answer to it can always pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from batchboard.wording import listed

if TYPE_CHECKING:
    import anthropic
else:
    from dispatch.sdk import anthropic


ENFORCED = frozenset(
    {"$defs", "$ref", "additionalProperties", "anyOf", "const", "enum", "items", "properties"}
    | {"required", "type"}
)
"""Keywords that the provider holds an answer to."""

NOTES = frozenset({"$comment", "$id", "$schema", "default", "deprecated", "description"}) | {
    "$anchor", "$dynamicAnchor", "$vocabulary", "contentEncoding", "contentMediaType",
    "contentSchema", "definitions", "examples", "format", "readOnly", "title", "writeOnly",
}  # fmt: skip
"""Keywords that an answer is not checked against, so nothing is lost without them."""

_SILENT = frozenset({"$comment", "$id", "$schema", "$vocabulary", "deprecated"})
_KINDS = {
    "object": {"properties", "required", "additionalProperties", "patternProperties"}
    | {"propertyNames", "minProperties", "maxProperties", "dependentRequired"}
    | {"dependentSchemas", "unevaluatedProperties"},
    "array": {"items", "prefixItems", "contains", "minContains", "maxContains", "minItems"}
    | {"maxItems", "uniqueItems", "unevaluatedItems"},
    "string": {"minLength", "maxLength", "pattern", "format"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
}
_PLAIN = ("string", "number", "boolean", "null")
_OLD_REFERENCE = re.compile(r'("\$ref": "#(?:[^"]*(?<!/properties))?)/definitions/')
_ANY_WAS_ASKED = "anyOf"
_COMBINING = ("anyOf", "oneOf", "allOf")
_SHAPING = ("properties", "items", "enum", "const", "$ref")
_WORDS: Mapping[str, Callable[[Any], str]] = {
    "minLength": lambda n: f"at least {n:,} characters",
    "maxLength": lambda n: f"at most {n:,} characters",
    "pattern": lambda text: f"matches the regular expression {text}",
    "minimum": lambda n: f"at least {n}",
    "maximum": lambda n: f"at most {n}",
    "exclusiveMinimum": lambda n: f"more than {n}",
    "exclusiveMaximum": lambda n: f"less than {n}",
    "multipleOf": lambda n: f"a multiple of {n}",
    "minItems": lambda n: f"at least {n:,} entries",
    "maxItems": lambda n: f"at most {n:,} entries",
    "uniqueItems": lambda _: "no entry twice",
    "minProperties": lambda n: f"at least {n:,} properties",
    "maxProperties": lambda n: f"at most {n:,} properties",
    "format": lambda text: f"format {text}",
}


@dataclass(frozen=True, slots=True)
class Unenforced:
    """A keyword that only our own check holds an answer to, and the part that it stands in, as a
    JSON Pointer ("" is the whole answer)."""

    keyword: str
    path: str

    def __str__(self) -> str:
        return f"{self.keyword} (at {self.path or 'the whole answer'})"


def asked(schema: Any) -> dict[str, Any]:
    """The schema of a request for a contract; the caller must not change it."""
    return _asked(json.dumps(schema))


def unenforced(schema: Any) -> list[Unenforced]:
    """What of a contract the provider does not hold the model to, in the order of the text."""
    return list(_unenforced(schema, ""))


def advice(schema: Any, most: int = 4) -> str:
    """What to know of a contract before it is used, or "" where the provider enforces it all."""
    found = unenforced(schema)
    maps = [one.path for one in found if one.keyword == "additionalProperties"]
    if not found:
        return ""
    named = [str(one) for one in found[:most]]
    if more := len(found) - len(named):
        named.append(f"{more:,} more")
    closed = (
        f" It lets no property through that the contract does not name, so the object at"
        f" {maps[0] or 'the whole answer'} stays empty: name its properties."
        if maps
        else ""
    )
    return (
        f"The provider does not enforce {listed(named)}: the model is told in words, and an answer"
        f" that breaks it is regenerated once and then dead.{closed}"
    )


@lru_cache(maxsize=128)
def _asked(text: str) -> dict[str, Any]:
    return anthropic.transform_schema(_plain(json.loads(_OLD_REFERENCE.sub(r"\1/$defs/", text))))


def _plain(written: Any) -> dict[str, Any]:
    """A part of a schema in the form that the SDK takes, with all else in its description."""
    if not isinstance(written, dict):
        return {"anyOf": [{"type": kind} for kind in _PLAIN]}
    schema = {name: value for name, value in written.items() if name not in _SILENT}
    kept: dict[str, Any] = {}
    if defs := schema.pop("definitions", {}) | schema.pop("$defs", {}):
        kept["$defs"] = {name: _plain(part) for name, part in defs.items()}
    kept |= {name: schema.pop(name) for name in ("title", "description") if name in schema}
    kept |= _shape(schema)
    said = [kept.pop("description", ""), *_in_words(schema)]
    if description := "\n\n".join(filter(None, said)):
        kept["description"] = description
    return kept


def _shape(schema: dict[str, Any]) -> dict[str, Any]:
    """What the provider can enforce, taken out of `schema`; what it cannot stays there."""
    combining = next((name for name in _COMBINING if schema.get(name)), None)
    if "$ref" in schema:
        # Alone in a list, since nothing may stand beside a reference.
        return {"anyOf": [{"$ref": schema.pop("$ref")}]}
    if _has_values(schema):
        name = "enum" if "enum" in schema else "const"
        schema.pop("type", None)
        return {name: schema.pop(name)}
    if combining and not any(name in schema for name in _SHAPING):
        base = {"type": schema.pop("type")} if "type" in schema else {}
        parts = schema.pop(combining)
        whole = combining == "allOf" and len(parts) > 1
        if combining == "oneOf" and len(parts) > 1:
            schema["oneOf"] = _ANY_WAS_ASKED
        return {"allOf" if whole else "anyOf": [_plain(_typed(part, base)) for part in parts]}
    kind = schema.pop("type", None) or _implied(schema)
    if isinstance(kind, list):
        return {"anyOf": [_plain({"type": one} | _of_kind(schema, one)) for one in kind]} | (
            _forget(schema, kind)
        )
    return _object(schema) if kind == "object" else _listed(schema, kind)


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    named = {
        name: _plain(part)
        for name, part in schema.pop("properties", {}).items()
        if part is not False
    }
    required = schema.pop("required", [])
    extra = schema.pop("additionalProperties", None)
    if isinstance(extra, dict) and not named:
        schema["additionalProperties"] = extra
    named |= {name: _plain(True) for name in required if name not in named}
    shape = {"type": "object", "properties": named}
    return shape | ({"required": required} if required else {})


def _listed(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    if kind != "array":
        return {"type": kind} | ({"format": schema.pop("format")} if "format" in schema else {})
    shape: dict[str, Any] = {"type": "array", "items": _plain(schema.pop("items", True))}
    if schema.get("minItems") in {0, 1}:
        shape["minItems"] = schema.pop("minItems")
    return shape


def _has_values(schema: Mapping[str, Any]) -> bool:
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return bool(values) and not any(isinstance(value, dict | list) for value in values)


def _typed(part: Any, base: dict[str, Any]) -> Any:
    return base | part if isinstance(part, dict) else part


def _implied(schema: Mapping[str, Any]) -> str | list[str]:
    """The kinds of value that a part without a type is meant for, by the words that it uses."""
    found = [kind for kind, words in _KINDS.items() if words & schema.keys()]
    return found[0] if len(found) == 1 else list(_PLAIN)


def _of_kind(schema: Mapping[str, Any], kind: str) -> dict[str, Any]:
    words = _KINDS.get("number" if kind == "integer" else kind, set())
    return {name: value for name, value in schema.items() if name in words}


def _forget(schema: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    """Nothing more to keep: what was handed on to one kind need not be said again."""
    for kind in kinds:
        for name in _of_kind(schema, kind):
            schema.pop(name, None)
    return {}


def _in_words(left: Mapping[str, Any]) -> Iterator[str]:
    rules = [_rule(name, value) for name, value in left.items() if name not in NOTES]
    notes = [_rule(name, value) for name, value in left.items() if name in NOTES]
    if rules:
        yield f"Must be: {'; '.join(rules)}"
    if notes:
        yield f"({'; '.join(notes)})"


def _rule(name: str, value: Any) -> str:
    if name == "oneOf" and value is _ANY_WAS_ASKED:
        return "exactly one of these forms"
    if name in _WORDS:
        return _WORDS[name](value)
    return f"{name}: {json.dumps(value, ensure_ascii=False)}"


def _unenforced(schema: Any, path: str) -> Iterator[Unenforced]:
    if not isinstance(schema, dict):
        return
    for name, value in schema.items():
        if not _is_enforced(name, value, schema):
            yield Unenforced(name, path)
    for name in ("properties", "$defs", "definitions"):
        for inner, part in (schema.get(name) or {}).items():
            yield from _unenforced(part, f"{path}/{name}/{_escaped(inner)}")
    for name in _COMBINING:
        for place, part in enumerate(schema.get(name) or []):
            yield from _unenforced(part, f"{path}/{name}/{place}")
    yield from _unenforced(schema.get("items"), f"{path}/items")


def _is_enforced(name: str, value: Any, schema: Mapping[str, Any]) -> bool:
    if name in {"enum", "const"}:
        return _has_values(schema)
    if name in {"minItems", "uniqueItems"}:
        return value in {0, 1} and (name == "minItems" or not value)
    if name in {"additionalProperties", "unevaluatedProperties"}:
        return not isinstance(value, dict) or bool(schema.get("properties"))
    if name in _COMBINING:
        first = next(one for one in _COMBINING if schema.get(one) or one == name)
        alone = name == first and not any(one in schema for one in _SHAPING)
        return alone and (name != "oneOf" or len(value) < 2)
    return name in ENFORCED or name in NOTES


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
