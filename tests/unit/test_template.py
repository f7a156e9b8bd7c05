import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchboard.template import TemplateError, columns, render


@pytest.mark.parametrize(
    ("template", "named"),
    [
        ("Read {{ title }}.", {"title"}),
        ("{{title}}{{ text }}{{title}}", {"title", "text"}),
        ("{{ größe in cm }} and {{ 値 }}", {"größe in cm", "値"}),
        ("{{ a.b }} {{ c|upper }}", {"a.b", "c|upper"}),
        ('{"x": {"y": {{ value }}}}', {"value"}),
        ("{{{ a }}}", {"a"}),
    ],
)
def test_the_columns_that_a_template_names_are_found(template, named):
    assert columns(template) == named


@pytest.mark.parametrize(
    ("template", "data", "prompt"),
    [
        ("Read {{ title }}.", {"title": "One"}, "Read One."),
        ("{{title}}{{ text }}", {"title": "a", "text": "b"}, "ab"),
        ("[{{ gone }}{{ none }}]", {"none": None}, "[]"),
        ("{{ n }} {{ f }} {{ b }}", {"n": 7, "f": 1.5, "b": True}, "7 1.5 true"),
        ("{{ v }}", {"v": {"a": [1, "é"], "b": None}}, '{"a":[1,"é"],"b":null}'),
        ("{{ a }}{{ b }}", {"a": "{{ b }}", "b": "x"}, "{{ b }}x"),
        ("{{ a }}{{ b }}", {"a": "{", "b": "{ a }}"}, "{{ a }}"),
        ("{{ a }}", {"a": r"\1 \g<0>"}, r"\1 \g<0>"),
        ('{"x": {"y": {{ v }}}}', {"v": 1}, '{"x": {"y": 1}}'),
        ("{{{ a }}}", {"a": "x"}, "{x}"),
        ("{{ a.b }}", {"a": {"b": 1}, "a.b": "flat"}, "flat"),
        ("{ a } }} {{ a }}", {"a": "x"}, "{ a } }} x"),
    ],
)
def test_a_prompt_is_the_template_with_the_values_of_one_item(template, data, prompt):
    assert render(template, data) == prompt


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("Read this.", "The template names no column"),
        ("", "The template names no column"),
        ("a\nb {{ title", "The placeholder that opens at line 2, column 3 is not closed."),
        ("{{ a }}\n{{ title }", "The placeholder that opens at line 2, column 1 is not closed."),
        ("{{ a }} {{ ti\ntle }}", "The placeholder that opens at line 1, column 9 is not closed."),
        ("{{ a {{ b }}", "The placeholder that opens at line 1, column 1 is not closed."),
        ("{{ a }}\n\n x{{  }}", "The placeholder at line 3, column 3 is empty."),
        ("{{}}", "The placeholder at line 1, column 1 is empty."),
    ],
)
def test_a_template_that_cannot_be_filled_is_refused_with_its_place(template, says):
    with pytest.raises(TemplateError) as refused:
        columns(template)
    assert str(refused.value).startswith(says)


@given(st.lists(st.text(), min_size=2, max_size=5))
def test_values_come_out_as_they_went_in(values):
    data = {f"c{place}": value for place, value in enumerate(values)}
    template = "|".join(f"{{{{ {name} }}}}" for name in data)
    assert render(template, data) == "|".join(values)


@given(st.text(alphabet="{} ab\n", max_size=20))
def test_nothing_but_a_template_error_comes_of_any_text(template):
    try:
        named = columns(template)
    except TemplateError:
        return
    assert render(template, dict.fromkeys(named, "")).count("{{") <= template.count("{{")
