"""Values that fit a JSON Schema, for structured answers. `pattern` is not understood."""

from collections.abc import Callable
from random import Random
from typing import Any

from .numbers_between import integer_for, number_for

DEEP = 5
OPTIONAL_SHARE = 0.8
_COMBINING = ("allOf", "anyOf", "oneOf")

_FORMATS = {
    "date": "2026-11-{0:02d}",
    "time": "0{1}:30:00Z",
    "date-time": "2026-11-{0:02d}T0{1}:30:00Z",
    "duration": "P{0}D",
    "email": "person{0}@example.com",
    "hostname": "host{0}.example.com",
    "uri": "https://example.com/{0}",
    "ipv4": "192.0.2.{0}",
    "ipv6": "2001:db8::{0}",
    "uuid": "00000000-0000-4000-8000-0000000000{0:02d}",
}


class SchemaValues:
    """`write(length)` gives the words of free strings; `length` is their wanted size."""

    def __init__(
        self, root: dict[str, Any], random: Random, length: int, write: Callable[[int], str]
    ) -> None:
        self._root = root
        self._random = random
        self._length = length
        self._write = write

    def value(self, schema: Any = None, depth: int = 0) -> Any:
        schema = self._resolved(self._root if schema is None else schema, depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        kind = self._kind(schema, depth)
        if kind in ("object", "array"):
            return (self._object if kind == "object" else self._array)(schema, depth)
        return self._scalar(kind, schema)

    def _scalar(self, kind: str, schema: dict[str, Any]) -> Any:
        match kind:
            case "integer":
                return integer_for(schema, self._random)
            case "number":
                return number_for(schema, self._random)
            case "boolean":
                return self._random.random() < 0.5
            case "null":
                return None
        return self._string(schema)

    def _resolved(self, written: Any, depth: int) -> dict[str, Any]:
        """The schema without references and without anyOf, oneOf and allOf."""
        schema: dict[str, Any] = written if isinstance(written, dict) else {}
        if "$ref" in schema:
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return _merged(self._resolved(self._target(schema["$ref"]), depth), rest)
        parts = list(schema.get("allOf", ()))
        unions = [schema[union] for union in ("anyOf", "oneOf") if union in schema]
        parts += [self._alternative(choices, depth) for choices in unions]
        plain = {key: value for key, value in schema.items() if key not in _COMBINING}
        for part in parts:
            plain = _merged(plain, self._resolved(part, depth))
        return plain

    def _target(self, reference: str) -> Any:
        node: Any = self._root
        for part in reference.removeprefix("#").split("/")[1:]:
            node = node[part.replace("~1", "/").replace("~0", "~")]
        return node

    def _alternative(self, choices: list[Any], depth: int) -> Any:
        """Any of them; far down the plainest, so that a recursive schema ends."""
        return self._random.choice(choices) if depth < DEEP else min(choices, key=_weight)

    def _kind(self, schema: dict[str, Any], depth: int) -> str:
        kind = schema.get("type") or _implied_kind(schema)
        if isinstance(kind, str):
            return kind
        solid = [each for each in kind if each != "null"]
        if not solid or (depth >= DEEP and "null" in kind):
            return "null"
        return str(self._random.choice(solid))

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        properties = schema.get("properties", {})
        return {
            name: self.value(properties.get(name, {}), depth + 1)
            for name in dict.fromkeys([*properties, *required])
            if name in required or (depth < DEEP and self._random.random() < OPTIONAL_SHARE)
        }

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        least = schema.get("minItems", 0)
        most = schema.get("maxItems", least + 3)
        wanted = least if depth >= DEEP else self._random.randint(max(least, min(1, most)), most)
        first = [self.value(each, depth + 1) for each in schema.get("prefixItems", ())]
        values = first[: max(wanted, least)]
        for _ in range(wanted * 8):
            if len(values) >= wanted or schema.get("items") is False:
                break
            value = self.value(schema.get("items", {}), depth + 1)
            if not schema.get("uniqueItems") or value not in values:
                values.append(value)
        return values

    def _string(self, schema: dict[str, Any]) -> str:
        if schema.get("format") in _FORMATS:
            numbers = (self._random.randint(1, 28), self._random.randint(0, 9))
            return _FORMATS[schema["format"]].format(*numbers)
        least = schema.get("minLength", 0)
        most = schema.get("maxLength", max(self._length, least))
        return self._write(max(least, min(self._length, most)))


def free_strings(schema: Any) -> int:
    """How many places for free text a schema mentions."""
    if isinstance(schema, dict):
        free = schema.get("type") == "string" and not schema.keys() & {"enum", "const", "format"}
        return int(free) + sum(map(free_strings, schema.values()))
    return sum(map(free_strings, schema)) if isinstance(schema, list) else 0


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Both at once: properties and required names add up, other words are overridden."""
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = [*one["required"], *other["required"]]
    return merged


def _implied_kind(schema: dict[str, Any]) -> str:
    if "properties" in schema or "required" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    bounds = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    return "number" if schema.keys() & bounds else "string"


def _weight(schema: Any) -> int:
    if not isinstance(schema, dict) or schema.get("type") == "null":
        return 0
    if "const" in schema or "enum" in schema:
        return 1
    return {"object": 4, "array": 3, None: 5}.get(schema.get("type"), 2)
