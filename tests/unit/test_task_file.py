import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchboard.task_definition import TaskDefinition
from batchboard.task_file import TaskFileError, parse, parse_bytes

MODELS = ("claude-haiku-5-5", "claude-sonnet-5-5")

WHOLE = '''
name = "Competitor scan"
model = "claude-haiku-5-5"
system = """
You compare prices.
model = "not this one"
"""
prompt = "Read {{ page }}."
max_tokens = 500
key = "url"
check = ["The price is right", "The plan is right"]

[contract]
type = "object"
required = ["price"]

[contract.properties.price]
type = "number"
'''

FIELDS = {
    "name": "Scan",
    "model": "claude-haiku-5-5",
    "prompt": "Read {{ page }}.",
    "max_tokens": 500,
}


def read(text):
    return parse(text, known_models=MODELS.__contains__, suggest=MODELS)


def toml(**changes):
    """The smallest task file, changed: a plain string is TOML as it stands, None leaves out."""
    fields = {name: json.dumps(value) for name, value in FIELDS.items()} | changes
    return "\n".join(f"{name} = {value}" for name, value in fields.items() if value is not None)


def test_a_task_file_becomes_a_definition():
    assert read(WHOLE) == TaskDefinition(
        name="Competitor scan",
        model="claude-haiku-5-5",
        system='You compare prices.\nmodel = "not this one"\n',
        prompt="Read {{ page }}.",
        max_tokens=500,
        key="url",
        check=("The price is right", "The plan is right"),
        contract={
            "type": "object",
            "required": ["price"],
            "properties": {"price": {"type": "number"}},
        },
    )


def test_what_may_be_left_out_is_empty():
    assert read(toml()) == TaskDefinition(**FIELDS, system="", key=None, check=(), contract=None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('name = "a\n', "Line 1: This is not valid TOML at column 10: Illegal character"),
        ("name", "The file is not valid TOML: Expected '=' after a key"),
        (toml(name='"a"\nname = "b"'), "Line 2: This is not valid TOML at column 11: Cannot over"),
        (toml(promt='"x"'), "Line 5: There is no field promt: did you mean prompt?"),
        (toml(zzz="1"), "Line 5: There is no field zzz: known are name, model, system, prompt, "),
        (toml(name=None), "The field name is missing. A task type needs name, model, prompt, max"),
        (toml(model=None), "The field model is missing."),
        (toml(prompt=None), "The field prompt is missing."),
        (toml(max_tokens=None), "The field max_tokens is missing."),
        (toml(name="1"), "Line 1: The field name must be text."),
        (toml(max_tokens='"500"'), "Line 4: The field max_tokens must be a whole number."),
        (toml(max_tokens="true"), "Line 4: The field max_tokens must be a whole number."),
        (toml(max_tokens="5.0"), "Line 4: The field max_tokens must be a whole number."),
        (toml(check='"x"'), "Line 5: The field check must be a list of texts."),
        (toml(check='["x", 1]'), "Line 5: The field check must be a list of texts."),
        (toml(contract='"x"'), "Line 5: The field contract must be a table."),
        (toml(max_tokens="0"), "Line 4: max_tokens must be between 1 and 128,000."),
        (toml(max_tokens="128001"), "Line 4: max_tokens must be between 1 and 128,000."),
        (toml(max_tokens="9" * 5000), "The file holds a number or date that cannot be read."),
        (
            toml(model='"claude-hiaku-5-5"'),
            "Line 2: Model claude-hiaku-5-5 is unknown: did you mean claude-haiku-5-5 or claude-s",
        ),
        (
            toml(model='"gpt"'),
            "Line 2: Model gpt is unknown. Known are claude-haiku-5-5, claude-sonnet-5-5.",
        ),
        (toml(prompt='"Read this."'), "Line 3: In the prompt: The template names no column"),
        (toml(prompt='"Read {{ a"'), "Line 3: In the prompt: The placeholder that opens at line 1"),
        (toml(name='"a\\u0000"'), "Line 1: The field name holds a NUL character."),
        (toml(check='["a\\u0000"]'), "Line 5: The field check holds a NUL character."),
        (toml(name='" "'), "Line 1: The field name is empty."),
        (toml(key='""'), "Line 5: The field key is empty."),
        (toml(name=f'"{"x" * 121}"'), "Line 1: The name must be one line of at most 120 char"),
        (toml(name='"a\\nb"'), "Line 1: The name must be one line of at most 120 characters."),
        (toml(system=f'"{"x" * 1_000_001}"'), "Line 5: The field system is 1,000,001 bytes long"),
        (toml(prompt=f'"{{{{ a }}}}{"é" * 500_000}"'), "Line 3: The field prompt is 1,000,007 by"),
        (
            toml() + '\n\n[contract]\ntype = "strin"',
            "Line 6: The contract is not a valid JSON Schema at type: a type is one of array, ",
        ),
        (
            toml() + '\n[contract.properties.a]\n"$ref" = "http://example.com"',
            "Line 5: The reference 'http://example.com' at properties.a.$ref leads out of the cont",
        ),
        (toml(contract="{const = 2026-01-01}"), "Line 5: The contract holds a value that JSON "),
        (WHOLE.replace("haiku-5-5", "x"), "Line 3: Model claude-x is unknown"),
        (f"a = {'[' * 5000}", "The file is nested too deep."),
        (toml(name="'a\udc80'"), "Line 1: The field name holds half"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_place(text, says):
    with pytest.raises(TaskFileError) as refused:
        read(text)
    assert str(refused.value).startswith(says)


def test_the_field_is_named_for_the_form():
    with pytest.raises(TaskFileError) as refused:
        read(toml(max_tokens="0"))
    assert (refused.value.field, refused.value.line) == ("max_tokens", 4)


@pytest.mark.parametrize("max_tokens", [1, 128_000])
def test_max_tokens_has_bounds_that_count_as_inside(max_tokens):
    assert read(toml(max_tokens=str(max_tokens))).max_tokens == max_tokens


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_bytes_are_utf_8(mark, end):
    content = mark + WHOLE.replace("scan", "größe").replace("\n", end).encode()
    definition = parse_bytes(content, known_models=MODELS.__contains__)
    assert definition.name == "Competitor größe"


def test_other_bytes_are_refused_with_their_place():
    with pytest.raises(TaskFileError) as refused:
        parse_bytes(b'name = "a"\nmodel = "\xff"', known_models=MODELS.__contains__)
    assert str(refused.value) == (
        "Line 2: This is not UTF-8 text: byte 21 of the file is 0xff. "
        'Save it with the encoding "UTF-8".'
    )


@given(
    st.binary(max_size=80)
    | st.text(alphabet="name=model[]{}\"'\\\n1.- ", max_size=60).map(str.encode)
)
def test_nothing_but_a_task_file_error_comes_of_any_bytes(content):
    with suppress(TaskFileError):
        parse_bytes(content, known_models=MODELS.__contains__, suggest=MODELS)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
def test_texts_come_out_as_they_went_in(system):
    quoted = json.dumps(system, ensure_ascii=False).replace("\x7f", "\\u007f")
    assert read(toml(system=quoted)).system == system
