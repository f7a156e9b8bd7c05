"""The contract as it is asked of the provider: nothing that is checked goes unsaid."""

import json

import anthropic
import pytest

from dispatch import contract
from dispatch.asked_schema import Unenforced, advice, asked, unenforced

NOT_ENFORCED = [
    ("string", "maxLength", 60, "at most 60 characters"),
    ("string", "minLength", 3, "at least 3 characters"),
    ("string", "pattern", "^[a-z]+$", "matches the regular expression ^[a-z]+$"),
    ("integer", "minimum", 1, "at least 1"),
    ("integer", "maximum", 5, "at most 5"),
    ("number", "exclusiveMinimum", 0, "more than 0"),
    ("number", "exclusiveMaximum", 1, "less than 1"),
    ("number", "multipleOf", 0.5, "a multiple of 0.5"),
    ("array", "minItems", 2, "at least 2 entries"),
    ("array", "maxItems", 4, "at most 4 entries"),
    ("array", "uniqueItems", True, "no entry twice"),
    ("array", "contains", {"const": 1}, 'contains: {"const": 1}'),
    ("array", "prefixItems", [{"const": 1}], 'prefixItems: [{"const": 1}]'),
    ("object", "minProperties", 1, "at least 1 properties"),
    ("object", "maxProperties", 2, "at most 2 properties"),
    ("object", "patternProperties", {"^x": {"type": "null"}}, "patternProperties: "),
    ("object", "propertyNames", {"maxLength": 3}, 'propertyNames: {"maxLength": 3}'),
    ("object", "dependentRequired", {"a": ["b"]}, 'dependentRequired: {"a": ["b"]}'),
    ("string", "not", {"const": "x"}, 'not: {"const": "x"}'),
]


def object_with(**properties):
    return {"type": "object", "required": list(properties), "properties": properties}


@pytest.mark.parametrize(("kind", "keyword", "value", "words"), NOT_ENFORCED)
def test_what_the_provider_does_not_enforce_is_said_to_the_model_and_to_the_author(
    kind, keyword, value, words
):
    part = {"type": kind, keyword: value}
    schema = object_with(title=part)
    contract.compile(schema)

    assert keyword not in anthropic.transform_schema(part), "the SDK keeps it by now"
    assert words in asked(schema)["properties"]["title"]["description"]
    assert unenforced(schema) == [Unenforced(keyword, "/properties/title")]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "string"},
        {"type": "string", "format": "date"},
        {"type": "string", "enum": ["a", "b"], "description": "one"},
        {"const": 3},
        {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        {"type": "object", "properties": {}, "additionalProperties": False},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": ["string", "null"], "default": None},
    ],
)
def test_what_the_provider_enforces_needs_no_advice(part):
    assert advice(object_with(title=part)) == ""


def test_the_advice_is_one_sentence_with_the_places():
    schema = object_with(
        title={"type": "string", "maxLength": 60},
        **{"a/b": {"type": "array", "items": {"type": "integer", "minimum": 1}}},
    )
    assert advice(schema) == (
        "The provider does not enforce maxLength (at /properties/title) and minimum"
        " (at /properties/a~1b/items): the model is told in words, and an answer that breaks it"
        " is regenerated once and then dead."
    )


def test_long_advice_counts_what_it_leaves_out():
    schema = object_with(**{f"p{n}": {"type": "string", "maxLength": n + 1} for n in range(7)})
    assert "(at /properties/p3) and 3 more: the model" in advice(schema)


def test_an_author_s_own_description_comes_first():
    part = {"type": "string", "maxLength": 60, "description": "The headline."}
    description = asked(object_with(title=part))["properties"]["title"]["description"]
    assert description == "The headline.\n\nMust be: at most 60 characters"


def test_what_stands_beside_a_reference_is_not_lost():
    part = {"$ref": "#/$defs/name", "maxLength": 5, "description": "Short."}
    schema = object_with(title=part) | {"$defs": {"name": {"type": "string"}}}
    assert anthropic.transform_schema(part) == {"$ref": "#/$defs/name"}
    assert asked(schema)["properties"]["title"] == {
        "anyOf": [{"$ref": "#/$defs/name"}],
        "description": "Short.\n\nMust be: at most 5 characters",
    }


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": ["string", "null"], "maxLength": 4},
        {"properties": {"a": True, "b": False}, "required": ["a", "c"]},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "properties": {"a": {}}, "oneOf": [{"required": ["a"]}]},
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"anyOf": [{"type": "string"}], "oneOf": [True], "allOf": [{"minLength": 1}]},
        {"enum": [{"a": 1}, [2]]},
        {"if": {"type": "string"}, "then": {"minLength": 2}},
        {"type": ["integer", "number"], "minimum": 2},
    ],
)
def test_every_valid_contract_can_be_asked_for(schema):
    """The SDK raises for a list of types, or for none: every call of such a batch would fail."""
    contract.compile(schema)
    json.dumps(asked(schema))


def test_old_definitions_are_asked_for_under_the_name_that_the_provider_knows():
    schema = object_with(a={"$ref": "#/definitions/A"}) | {"definitions": {"A": {"type": "null"}}}
    found = asked(schema)
    assert found["$defs"] == {"A": {"type": "null"}}
    assert found["properties"]["a"] == {"anyOf": [{"$ref": "#/$defs/A"}]}


def test_one_of_several_forms_is_asked_for_as_any_of_them_and_said_in_words():
    schema = {"oneOf": [{"type": "string"}, {"type": "string", "minLength": 2}]}
    assert asked(schema)["description"] == "Must be: exactly one of these forms"
    assert unenforced(schema) == [Unenforced("oneOf", ""), Unenforced("minLength", "/oneOf/1")]


def test_an_object_of_free_names_is_said_to_stay_empty():
    schema = object_with(counts={"type": "object", "additionalProperties": {"type": "integer"}})
    assert advice(schema).endswith(
        "It lets no property through that the contract does not name, so the object at"
        " /properties/counts stays empty: name its properties."
    )


def test_definitions_further_down_are_found_there_too():
    inner = object_with(a={"$ref": "#/properties/result/definitions/A"})
    inner["definitions"] = {"A": {"type": "null"}}
    found = asked(object_with(result=inner))["properties"]["result"]
    assert found["$defs"] == {"A": {"type": "null"}}
    assert found["properties"]["a"] == {"anyOf": [{"$ref": "#/properties/result/$defs/A"}]}


def test_a_property_of_that_name_is_no_definition():
    schema = object_with(definitions=object_with(x={"type": "null"}), a={
        "$ref": "#/properties/definitions/properties/x"
    })  # fmt: skip
    found = asked(schema)["properties"]["a"]
    assert found == {"anyOf": [{"$ref": "#/properties/definitions/properties/x"}]}
