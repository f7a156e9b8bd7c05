import json
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch import contract
from dispatch.contract import ContractError

SCAN = {
    "type": "object",
    "required": ["price_change", "count"],
    "additionalProperties": False,
    "properties": {
        "price_change": {"enum": ["raised", "cut", "same"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "names": {
            "type": "array",
            "items": {"type": "string", "minLength": 2},
            "maxItems": 2,
            "uniqueItems": True,
        },
        "code": {"type": "string", "pattern": "^[a-z]{2}-[0-9]+$", "maxLength": 20_000},
        "note": {"type": ["string", "null"]},
    },
}


def answer(**fields):
    return json.dumps({"price_change": "cut", "count": 3} | fields)


@pytest.mark.parametrize(
    "text",
    [answer(), f" \r\n\t{answer()}\n", answer(note=None, names=["ab", "cd"]), answer(code="ab-12")],
)
def test_an_answer_that_meets_the_contract_passes_with_its_value(text):
    verdict = contract.compile(SCAN).check(text)
    assert verdict == contract.Verdict(True, json.loads(text), None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "no price_change, no count"),
        ('{"count": 1}', "no price_change"),
        (answer(price_change="up"), "price_change: 'up' is not one of 'raised', 'cut', 'same'"),
        (answer(count="x"), "count: 'x' is not a whole number"),
        (answer(count=0), "count: 0 is less than 1"),
        (answer(count=10), "count: 10 is more than 9"),
        (answer(names=["ab", "c"]), "names[1]: must have at least 2 characters, has 1"),
        (answer(names=["ab", "cd", "ef"]), "names: must have at most 2 entries, has 3"),
        (answer(names=["ab", "ab"]), "names: has the same entry twice"),
        (answer(code="AB"), "code: 'AB' does not match ^[a-z]{2}-[0-9]+$"),
        (answer(note=1), "note: 1 is not text or null"),
        (answer(extra=1), "unexpected 'extra'"),
        ("[]", "[] is not an object"),
        ("", "The answer is empty"),
        (" \n", "The answer is empty"),
        ("Sure! {}", "Not valid JSON: a value is missing at line 1, column 1"),
        (f"```json\n{answer()}\n```", "Not valid JSON: a value is missing at line 1, column 1"),
        (answer() + " Done.", "Not valid JSON: there is more text after the end at line 1, "),
        ('{\n"a": "b', "Not valid JSON: a quote is missing at line 2, column 6"),
        ('{"count": NaN}', "Not valid JSON: NaN is not a JSON number"),
        ('{"count": 1, "count": 2}', "Not valid JSON: the field 'count' is there twice"),
        ('{"note": "\\ud800"}', "Not valid JSON: a text holds half of a surrogate pair"),
        ("[" * 100_000, "Not valid JSON: it is nested over 64 levels deep"),
        ("[" * 65 + "]" * 65, "Not valid JSON: it is nested over 64 levels deep"),
        ("1" * 5000, "Not valid JSON: a number has too many digits"),
    ],
)
def test_an_answer_that_does_not_is_told_what_is_wrong_and_where(text, problem):
    verdict = contract.compile(SCAN).check(text)
    assert not verdict.ok
    assert verdict.value is None
    assert verdict.problem.startswith(problem)
    assert len(verdict.problem) <= 300


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (None, "A contract must be a JSON Schema: an object, or true or false."),
        ([], "A contract must be a JSON Schema"),
        ("{}", "A contract must be a JSON Schema"),
        ({"type": "strin"}, "The contract is not a valid JSON Schema at type: a type is one of"),
        (
            {"properties": {"a": {"minLength": -1}}},
            "The contract is not a valid JSON Schema at properties.a.minLength: -1 is less than 0.",
        ),
        (
            {"required": "a"},
            "The contract is not a valid JSON Schema at required: 'a' is not a list.",
        ),
        ({"items": [True]}, "The contract is not a valid JSON Schema at items: "),
        (
            {"properties": {"a": {"$ref": "https://example.com/a.json"}}},
            "The reference 'https://example.com/a.json' at properties.a.$ref leads out",
        ),
        ({"$dynamicRef": "other.json#a"}, "The reference 'other.json#a' at $dynamicRef leads out"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "The reference 'https://json-"),
        ({"$ref": "file:///etc/passwd"}, "The reference 'file:///etc/passwd' at $ref leads out"),
        ({"$ref": "#/$defs/a"}, "The reference '#/$defs/a' at $ref leads nowhere."),
        (
            {"$ref": "#/odd", "odd": {"not": {"$ref": "http://example.com"}}},
            "The reference 'http://example.com' at #/odd.not.$ref leads out of the contract.",
        ),
        ({"$ref": "#/odd", "odd": {"type": 1}}, "The contract is not a valid JSON Schema at #/odd"),
        ({"$ref": "#/odd", "odd": {"pattern": "["}}, "The pattern '[' at #/odd.pattern is not a"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "The contract names http://json"),
        ({"properties": {"a": {"$id": "https://example.com"}}}, "The contract has a $id at prop"),
        ({"$ref": "#"}, "The contract refers to itself without end."),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
            },
            "The contract refers to itself without end.",
        ),
        ({"pattern": "(a"}, "The pattern '(a' at pattern is not a valid regular expression: uncl"),
        ({"patternProperties": {"*": True}}, "The pattern '*' at patternProperties is not a valid"),
        ({"pattern": "a" * 2001}, "The pattern 'aaaa"),
        ({"const": float("nan")}, "The contract holds a value that JSON does not know"),
        ({"const": socket}, "The contract holds a value that JSON does not know"),
        ({"const": "x" * 200_001}, "The contract is over 200,000 bytes long."),
    ],
)
def test_what_is_no_contract_is_refused_with_what_and_where(schema, says):
    with pytest.raises(ContractError) as refused:
        contract.compile(schema)
    assert str(refused.value).startswith(says)


def nested(levels):
    schema = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


def test_a_contract_may_be_nested_64_deep():
    assert contract.compile(nested(63))
    with pytest.raises(ContractError, match="64 levels"):
        contract.compile(nested(64))
    with pytest.raises(ContractError, match="64 levels"):
        contract.compile(nested(100_000))


@pytest.mark.parametrize(
    ("schema", "text", "ok"),
    [
        (True, "1", True),
        (False, "1", False),
        ({}, "null", True),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "null"}, "null", True),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "number"}}}, "1", True),
        ({"$ref": "#n", "$defs": {"n": {"$anchor": "n", "type": "number"}}}, '"x"', False),
        (
            {
                "$id": "https://example.com/scan",
                "$ref": "#/$defs/n",
                "$defs": {"n": {"type": "null"}},
            },
            "1",
            False,
        ),
        ({"properties": {"child": {"$ref": "#"}, "n": {"const": 1}}}, '{"child": {"n": 2}}', False),
        ({"properties": {"$ref": {"type": "string"}}}, '{"$ref": "http://example.com"}', True),
        ({"const": {"$ref": "http://example.com"}}, '{"$ref": "http://example.com"}', True),
        ({"format": "email"}, '"no address"', True),
    ],
)
def test_what_lies_within_the_contract_is_followed(schema, text, ok):
    assert contract.compile(schema).check(text).ok is ok


def test_nothing_is_fetched(monkeypatch):
    monkeypatch.setattr(socket, "socket", lambda *_, **__: pytest.fail("opened a socket"))
    for schema in (SCAN, {"$id": "http://127.0.0.1/x", "$ref": "#"}, {"$ref": "http://127.0.0.1/"}):
        try:
            contract.compile(schema).check("{}")
        except ContractError:
            continue


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|a)+$", "(a|aa)+$", "((a)+)+$", "(?:(?:a)+)+$", "(?i:a+)+$", "(a?){40}a{40}$"]
    + ["(.*a){20}$", "(a{1,9}){1,30}$", "^a*a*a*a*a*$", r"^(([a-z])+.)+[A-Z]([a-z])+$"],
)
def test_a_pattern_that_could_go_many_ways_ends_at_once(pattern):
    text = json.dumps("a" * 2_000 + "!")
    began = time.monotonic()
    assert not contract.compile({"pattern": pattern}).check(text).ok
    names = contract.compile({"patternProperties": {pattern: False}, "minProperties": 1})
    assert names.check(f"{{{text}: 1}}").ok
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(?=a)b", "look-around, including look-ahead and look-behind, is not supported"),
        (r"(a+)\1", "backreferences are not supported"),
        ("((a{100}){100}){3}", "repeats more than 20,000 letters"),
        ("(a{1,500}){1,100}$", "repeats more than 20,000 letters"),
        ("a" * 2_001, "is over 2,000 characters long"),
    ],
)
def test_a_pattern_whose_matching_has_no_bound_is_refused(pattern, says):
    with pytest.raises(ContractError, match=says):
        contract.compile({"pattern": pattern})


@pytest.mark.parametrize(
    ("pattern", "text", "ok"),
    [
        ("^([a-z]+-)*[a-z]+$", "one-two-three", True),
        (r"^(\d{3})+$", "123456", True),
        (r"\(a+\)+", "x(aa))", True),
        ("(a|b)+", "c", False),
        ("[(a+)+]+", "+", True),
        ("^.{0,2000}$", "é" * 2_000, True),
        (
            "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
            "0" * 8 + "-0000" * 3 + "-" + "0" * 12,
            True,
        ),
        (r"^\d+$", "12\n", False),
        (r"^https:\/\/[\w.\-]+\/", "https://a-b.example/x", True),
    ],
)
def test_usual_patterns_match_as_they_do_elsewhere(pattern, text, ok):
    assert contract.compile({"pattern": pattern}).check(json.dumps(text)).ok is ok


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": "a"}, "a" * 10_001),
        ({"pattern": "(a?){5000}"}, "a" * 9_000),
        ({"patternProperties": {"a": True}}, {"a" * 10_001: 1}),
        ({"patternProperties": {"a": True}, "additionalProperties": False}, {"a" * 10_001: 1}),
    ],
)
def test_a_text_too_long_for_a_pattern_is_not_matched(schema, value):
    verdict = contract.compile(schema).check(json.dumps(value))
    assert not verdict.ok
    assert "too many for a pattern" in verdict.problem or "unexpected" in verdict.problem


def doubling(word, last):
    """A schema whose forty parts each refer to the next one twice."""
    parts = {f"p{n}": {word: [{"$ref": f"#/$defs/p{n + 1}"}] * 2} for n in range(40)}
    return {"$defs": parts | {"p40": last}}


@pytest.mark.parametrize("word", ["allOf", "anyOf"])
def test_parts_that_double_and_double_are_refused(word):
    with pytest.raises(ContractError, match="refers to the same parts again and again"):
        contract.compile(doubling(word, {"type": "integer"}) | {"$ref": "#/$defs/p0"})


LISTS = {"anyOf": [{"type": "integer"}] + [{"type": "array", "items": {"$ref": "#"}}] * 2}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (
            doubling("anyOf", {"type": "integer"}) | {"properties": {"x": {"$ref": "#/$defs/p0"}}},
            '{"x": "a"}',
        ),
        (LISTS, "[" * 40 + '"x"' + "]" * 40),
        ({"items": {"enum": list(range(10_000))}}, json.dumps([-1] * 10_000)),
    ],
)
def test_an_answer_that_would_take_for_ever_to_check_does_not_meet_the_contract(schema, text):
    verdict = contract.compile(schema).check(text)
    assert verdict.problem == "The contract asks for too many checks of this answer"


@pytest.mark.parametrize(
    ("entries", "ok"),
    [
        ([{"n": n, "m": [n]} for n in range(20_000)], True),
        ([[n] if n % 2 else {"n": n} for n in range(20_000)], True),
        ([1, 1.0], False),
        ([1, True], True),
        ([0, False, None, "", [], {}], True),
        ([{"a": 1, "b": 2}, {"b": 2.0, "a": 1}], False),
        (["1", 1], True),
    ],
)
def test_long_lists_without_an_entry_twice_are_told_quickly(entries, ok):
    assert contract.compile({"uniqueItems": True}).check(json.dumps(entries)).ok is ok


def test_an_answer_of_thousands_of_objects_is_checked_whole():
    names = "abcdefghij"
    one = {
        "type": "object",
        "required": list(names),
        "additionalProperties": False,
        "properties": {name: {"type": ["string", "null"]} for name in names},
    }
    schema = contract.compile({"items": {"$ref": "#/$defs/one"}, "$defs": {"one": one}})
    assert schema.check(json.dumps([dict.fromkeys(names, "x")] * 3_000)).ok


def test_equal_schemas_are_compiled_once_and_keep_their_meaning():
    schema = {"type": "object", "required": ["a"]}
    first = contract.compile(schema)
    assert contract.compile({"required": ["a"], "type": "object"}) is first
    schema["required"].append("b")
    assert contract.compile(schema) is not first
    assert first.check('{"a": 1}').ok


@given(st.text(alphabet='{}[]",:\\u0d8 1eE.-NanInfity', max_size=40) | st.text(max_size=40))
def test_any_text_gets_a_verdict(text):
    verdict = contract.compile({"multipleOf": 0.1, "maxLength": 3}).check(text)
    assert verdict.ok or verdict.problem


def test_a_number_beyond_all_bounds_gets_a_verdict():
    assert contract.compile({"multipleOf": 0.1}).check("9" * 4000).problem


KEYWORDS = ["$ref", "$id", "$anchor", "$dynamicRef", "$schema", "$defs", "type", "properties"]
KEYWORDS += ["a", "items", "allOf", "if", "pattern", "patternProperties", "required"]
SCHEMAS = st.recursive(
    st.booleans() | st.sampled_from(["#", "#/a", "http://e", "string", "[", 1, -1, None]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(KEYWORDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(SCHEMAS)
def test_nothing_but_a_contract_error_comes_of_any_schema(schema):
    try:
        compiled = contract.compile(schema)
    except ContractError:
        return
    for text in ("{}", "[1]", '"x"', '{"a": {"a": []}}'):
        verdict = compiled.check(text)
        assert verdict.ok or verdict.problem
