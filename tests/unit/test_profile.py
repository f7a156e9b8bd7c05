"""What reading a file once tells of any prompt and any key."""

from collections import Counter
from io import BytesIO

import pytest

from batchboard import template
from batchboard.ingest import read_rows
from batchboard.ingest.profile import Profile, Profiler


def profile_of(text: str, name: str = "x.csv") -> Profile:
    profiler = Profiler()
    rows = read_rows(BytesIO(text.encode()), name, key=None, needs=frozenset(), checks_keys=False)
    for row in rows:
        profiler.take(row)
    return profiler.profile()


def test_sizes_of_prompts_are_those_of_the_rendered_prompts():
    text = "a,b\n" + "".join(f"{'ä' * n},{'x' * (n % 7)}\n" for n in range(1, 60))
    prompt = "Grüße {{ a }} und {{ b }}, {{ a }}"
    profiler, wanted = profile_of(text), Counter()
    for row in read_rows(BytesIO(text.encode()), "x.csv", key=None, needs=frozenset()):
        wanted[len(template.render(prompt, row.data).encode())] += 1
    assert profiler.prompt_sizes(prompt) == wanted


def test_sizes_of_a_large_file_are_scaled_from_a_regular_choice(monkeypatch):
    monkeypatch.setattr("batchboard.ingest.profile.KEPT_CELLS", 20)
    found = profile_of("a,b\n" + "".join(f"{'x' * (n % 10)},1\n" for n in range(1000)))
    assert len(found.sizes) <= 10
    sizes = found.prompt_sizes("{{ a }}")
    assert sizes.total() == 1000
    assert found.prompt_sizes("{{ a }}", 20).total() == 20


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\nx\ny\nx\n", 'lines 2 and 4 both have "x"'),
        ("a,b\nx,1\n,2\n", "it is empty on line 3"),
        (f"a\n{'x' * 201}\n", "over 200 characters on line 2"),
        ("a\nx\n", ""),
    ],
)
def test_a_column_says_why_it_cannot_hold_the_keys(text, why):
    column = profile_of(text).column("a")
    assert column is not None
    assert column.no_key == why


def test_a_field_that_a_line_of_jsonl_lacks_is_known_with_its_line():
    found = profile_of('{"a": 1, "b": 2}\n{"a": 2}\n{"a": 3, "c": 1}\n', "x.jsonl")
    absent = {column.name: column.absent for column in found.columns}
    assert absent == {"a": None, "b": 2, "c": 1}
    assert all(len(row) == 3 for row in found.sizes)


def test_it_survives_being_stored():
    found = profile_of("a,b\n1,2\n")
    assert Profile.of_json(found.as_json()) == found
