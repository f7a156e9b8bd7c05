"""What a model or a file says is shown, and never obeyed."""

import csv
import json
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.person import Person
from tests.browser.place import Place

MARKUP = """<script>window.ran = 1</script><img src=x onerror="window.ran = 2">\
<a href="javascript:window.ran = 3">here</a><svg onload="window.ran = 4"></svg>\
<style>* { display: none }</style><iframe srcdoc="<script>parent.ran = 5</script>"></iframe>"""
TEMPLATE = "{{ settings.SECRET_KEY }}{% debug %}"
TURNED = "exe.\u202egnp.\u2066txt"
CONTROL = "\x1b[31mred\x1b[0m\x07\x00"
MILLION = "All of this is one long text. " * 33_000

INPUTS = {
    "markup": MARKUP,
    "template": TEMPLATE,
    "turned": TURNED,
    "control": CONTROL.replace("\x00", ""),
    "million": MILLION,
    "half": "half of a pair",
    "bare": "not JSON at all",
}
"""One item each; its key is itself hostile, see `key_of`."""

ANSWERS = {
    "markup": json.dumps({"label": MARKUP}),
    "template": json.dumps({"label": TEMPLATE}),
    "turned": json.dumps({"label": TURNED}, ensure_ascii=False),
    "control": json.dumps({"label": CONTROL}),
    "million": json.dumps({"label": MILLION[:400_000]}),
    "half": '{"label": "broken \ud800 half"}',
    "bare": MARKUP + CONTROL + TURNED,
}
DEAD = {
    "half": "Not valid JSON: a text holds half of a surrogate pair",
    "bare": "Not valid JSON: a value is missing at line 1, column 1",
    "control": "Not valid JSON: a text holds a NUL character",
}
"""Why what cannot be kept as it is has no result."""

QUICK = 1.0

TASK_TYPE = """
name = '<b onclick="window.ran = 6">Echo</b>'
model = "claude-haiku-5-5"
max_tokens = 128000
key = "name"
system = '<script>window.ran = 7</script>'
prompt = "The kind is {{ kind }}: {{ text }}"
[contract]
type = "object"
required = ["label"]
[contract.properties.label]
type = "string"
"""
NAME = '<img src=x onerror="window.ran = 8">\u202eeman'


def key_of(kind: str) -> str:
    return f"{kind} <script>window.ran = 9</script> \u202e{kind}"


@pytest.fixture(scope="module")
def hostile(place: Place) -> str:
    """The id of a batch in review whose every text is hostile."""
    items, task_type = place.folder / "hostile.csv", place.folder / "hostile.toml"
    with items.open("w", newline="") as file:
        rows = [(key_of(kind), kind, text) for kind, text in INPUTS.items()]
        csv.writer(file).writerows([("name", "kind", "text"), *rows])
    task_type.write_text(TASK_TYPE)
    place.simulate(
        answer_containing={f"The kind is {kind}:": answer for kind, answer in ANSWERS.items()}
    )
    batch = place.submit(items, task_type, "--name", NAME, "--sample", str(len(INPUTS)))
    place.wait(batch, 60)
    place.simulate(answer_containing={})
    return batch


def nothing_ran(page: Page) -> None:
    assert page.evaluate("window.ran") is None
    assert page.locator("main img, main iframe, main script, main style").count() == 0
    text = page.locator("body").inner_text()
    assert not {"\u202e", "\u2066", "\x1b", "\x07"} & set(text)
    expect(page.locator("h1").first).to_be_visible()


def test_what_cannot_be_kept_as_it_is_becomes_a_dead_letter(place: Place, hostile: str) -> None:
    rows = place.read_all(
        "SELECT key, problem FROM batchboard_item WHERE state = 'dead' AND batch_id ="
        " (SELECT id FROM batchboard_batch WHERE public_id = %s)", hostile,
    )  # fmt: skip
    assert {key.split()[0]: problem for key, problem in rows} == DEAD


def test_board_batch_and_task_type_show_it_as_text(
    hostile: str, sit: Callable[..., Person]
) -> None:
    operator = sit("Operator")
    page = operator.page
    page.goto("/")
    expect(operator.card(hostile)).to_contain_text(NAME.replace("\u202e", "⟨U+202E⟩"))
    nothing_ran(page)
    page.goto(f"/batches/{hostile}/")
    page.get_by_role("textbox", name="Write a comment").fill(MARKUP + TURNED)
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page.locator("#activity")).to_contain_text("⟨U+202E⟩gnp")
    nothing_ran(page)
    page.goto("/task-types/")
    page.get_by_role("link", name="Echo").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("<b onclick=")
    nothing_ran(page)


def test_an_item_opens_quickly_and_shows_it_as_text(
    hostile: str, sit: Callable[..., Person]
) -> None:
    page = sit("Operator").page
    page.goto(f"/batches/{hostile}/")
    drawer = page.get_by_role("dialog", name="Item")
    for kind in INPUTS:
        began = time.monotonic()
        page.get_by_role("link", name=f"{kind} <script>").click()
        expect(drawer.get_by_role("heading", level=2)).to_be_focused()
        assert time.monotonic() - began < QUICK, kind
        expect(drawer).to_contain_text("⟨U+202E⟩")
        nothing_ran(page)
        if kind == "million":
            drawer.get_by_role("link", name="Show all").first.click()
            expect(drawer.locator("pre").first).to_contain_text(MILLION[:400_000].strip())
        page.keyboard.press("Escape")
        expect(drawer).to_be_hidden(timeout=2000)


def test_the_review_shows_it_as_text(hostile: str, sit: Callable[..., Person]) -> None:
    page = sit("Reviewer").page
    page.goto(f"/batches/{hostile}/review/")
    sample = page.locator(".drawn")
    expect(sample).to_have_count(len(INPUTS) - len(DEAD))
    for place in range(sample.count()):
        kind = sample.nth(place).inner_text().split()[0]
        sample.nth(place).click()
        expect(sample.nth(place)).to_have_attribute("aria-current", "true")
        expect(page.get_by_role("heading", level=1)).to_contain_text(kind)
        page.keyboard.press("r")
        nothing_ran(page)
    sample.filter(has_text="million").click()
    page.get_by_role("link", name="Show all").click()
    expect(page.get_by_text("The first 20 kB are shown")).to_have_count(0)
    page.keyboard.press("n")
    expect(page.get_by_role("textbox", name="Note")).to_be_focused(timeout=2000)


def test_a_file_that_is_not_utf_8_is_refused_in_words(sit: Callable[..., Person]) -> None:
    page = sit("Operator").page
    page.goto("/new/")
    content = b"name,text\n<script>window.ran = 1</script>,\xff\xfe\n"
    page.locator("#file").set_input_files(
        {"name": "<img src=x onerror=window.ran=1>.csv", "mimeType": "text/csv", "buffer": content}
    )
    expect(page.get_by_text("UTF-8").filter(visible=True).first).to_be_visible()
    expect(page.get_by_role("alert").filter(has_text="Nothing was created")).to_be_visible()
    nothing_ran(page)
