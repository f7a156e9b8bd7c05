"""A task type that is written as TOML comes back the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchboard.task_definition import TaskDefinition
from batchboard.task_file import parse
from batchboard.task_toml import NotWritable, dump

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
solid = texts.filter(str.strip)
values = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def back(text):
    return parse(text, known_models=lambda _: True)


@given(
    system=texts.filter(str.strip), prompt=texts.filter(lambda text: "{" not in text),
    check=st.lists(solid, max_size=3),
    default=st.dictionaries(texts, values, max_size=3),
)  # fmt: skip
def test_it_comes_back_the_same(system, prompt, check, default):
    definition = TaskDefinition(
        name="Triage", model="m", system=system, prompt=prompt + "{{ a }}",
        max_tokens=9, key="id", check=tuple(check),
        contract={"type": "object", "default": default},
    )  # fmt: skip
    assert back(dump(definition)) == definition


def test_a_contract_with_null_is_refused_in_words():
    definition = TaskDefinition("T", "m", "", "{{ a }}", 9, None, (), {"enum": [None]})
    with pytest.raises(NotWritable, match="null"):
        dump(definition)


@pytest.mark.parametrize(
    "text", ['ends in "quotes"', 'line\nends in "', 'a\n"""b"""', "a\r\nb", "a\\\nb", "\nlead\n"]
)
def test_awkward_texts_come_back(text):
    definition = TaskDefinition("T", "m", text, "{{ a }}\n" + text, 9, None, (), None)
    assert back(dump(definition)) == definition
