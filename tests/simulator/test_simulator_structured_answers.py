"""Answers fit the schema that was asked for."""

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from dispatch.simulator.schema_values import SchemaValues

SCAN = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 3, "maxLength": 12},
        "kind": {"enum": ["rival", "partner"]},
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "since": {"type": "string", "format": "date"},
        "owner": {"anyOf": [{"$ref": "#/$defs/person"}, {"type": "null"}]},
        "risks": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3},
        "version": {"const": 2},
    },
    "required": ["name", "kind", "score", "since", "owner", "risks", "version"],
    "additionalProperties": False,
    "$defs": {
        "person": {
            "type": "object",
            "properties": {
                "mail": {"type": "string", "format": "email"},
                "reports_to": {"anyOf": [{"$ref": "#/$defs/person"}, {"type": "null"}]},
            },
            "required": ["mail", "reports_to"],
            "additionalProperties": False,
        }
    },
}


def value_for(schema, seed=0):
    return SchemaValues(schema, Random(seed), 20, lambda length: "x" * length).value()


def structured(schema):
    return {"format": {"type": "json_schema", "schema": schema}}


def test_a_structured_answer_is_json_that_fits(talk, request_for):
    async def scenario(client, served):
        request = request_for(output_config=structured(SCAN))
        return [await client.messages.create(**request) for _ in range(2)]

    first, again = talk(scenario)
    Draft202012Validator(SCAN).validate(json.loads(first.content[0].text))
    assert first.content[0].text == again.content[0].text


def test_a_schema_counts_as_input(talk, request_for):
    async def scenario(client, served):
        bare = await client.messages.create(**request_for())
        with_schema = await client.messages.create(**request_for(output_config=structured(SCAN)))
        return with_schema.usage.input_tokens - bare.usage.input_tokens

    size = len(json.dumps(SCAN, separators=(",", ":")))
    assert size / 5 < talk(scenario) < size


def test_a_malformed_answer_is_not_json(talk, request_for):
    async def scenario(client, served):
        return await client.messages.create(**request_for("boom", output_config=structured(SCAN)))

    message = talk(scenario, fail_containing={"boom": "malformed"})
    with pytest.raises(json.JSONDecodeError):
        json.loads(message.content[0].text)


@pytest.mark.parametrize(
    "schema",
    [
        SCAN,
        {"type": ["string", "null"]},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001},
        {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
        {"type": "integer", "minimum": 7, "multipleOf": 5},
        {"type": "integer", "maximum": -3},
        {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
        {"type": "array", "prefixItems": [{"const": 1}], "items": False, "maxItems": 1},
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]},
                {"properties": {"b": {"type": "null"}}, "required": ["b"]},
            ]
        },
        {"oneOf": [{"type": "string"}, {"anyOf": [{"type": "null"}, {"type": "boolean"}]}]},
    ],
)
def test_values_fit(schema):
    for seed in range(20):
        Draft202012Validator(schema).validate(value_for(schema, seed))


scalars = st.sampled_from(
    [{"type": "boolean"}, {"type": "null"}, {"const": "c"}, {"enum": ["a", 1, None]}]
) | st.tuples(st.integers(-50, 50), st.integers(0, 50)).flatmap(
    lambda pair: st.sampled_from(
        [
            {"type": "integer", "minimum": pair[0], "maximum": pair[0] + pair[1]},
            {"type": "number", "minimum": pair[0], "maximum": pair[0] + pair[1]},
            {"type": "string", "minLength": pair[1], "maxLength": pair[1] + 3},
        ]
    )
)


def compound(inner):
    names = st.lists(st.sampled_from("abcd"), unique=True)
    objects = st.tuples(st.dictionaries(st.sampled_from("abcd"), inner), names).map(
        lambda pair: {
            "type": "object",
            "properties": pair[0],
            "required": [name for name in pair[1] if name in pair[0]],
            "additionalProperties": False,
        }
    )
    arrays = st.tuples(inner, st.integers(0, 3), st.integers(0, 3)).map(
        lambda each: {
            "type": "array",
            "items": each[0],
            "minItems": each[1],
            "maxItems": each[1] + each[2],
        }
    )
    return objects | arrays | st.lists(inner, min_size=1, max_size=3).map(lambda of: {"anyOf": of})


@settings(max_examples=150)
@given(st.recursive(scalars, compound, max_leaves=8), st.integers(0, 99))
def test_values_fit_any_schema_of_the_supported_words(schema, seed):
    Draft202012Validator(schema).validate(value_for(schema, seed))
