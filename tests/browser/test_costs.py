"""The costs page: a choice is made in place, stands in the address, and needs no script."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.person import Person
from tests.browser.place import Place


@pytest.fixture(scope="module")
def compared(place: Place) -> str:
    """The costs page of a task type of its own: two batches in two modes, then one in a second
    version."""
    items, task_type = place.items(6, "costs"), place.task_type(name="Compared", contract=True)
    for mode in ("single", "cached"):
        place.wait(place.submit(items, task_type, "--mode", mode))
    second = place.task_type(name="Compared", contract=True, max_tokens=150)
    place.wait(place.submit(items, second, "--mode", "cached"))
    (number,) = place.read("SELECT id FROM batchboard_tasktype WHERE name = %s", "Compared")
    return f"/costs/?type={number}"


def test_a_choice_swaps_the_page_in_place_and_goes_back(
    compared: str, sit: Callable[..., Person]
) -> None:
    page = sit("Viewer").page
    page.goto(f"{compared}&compare=mode:single:cached")
    shown = page.get_by_role("table", name=re.compile("^Each arm"))
    expect(shown.get_by_role("rowheader", name="Before: single")).to_be_visible()
    page.evaluate("window.stayed = true")
    select = page.get_by_label("Compare", exact=True)
    select.focus()
    select.select_option(label="v1 → v2")
    expect(shown.get_by_role("rowheader", name="Before: v1")).to_be_visible()
    page.wait_for_url(re.compile(r"compare=version%3A1%3A2"))
    assert page.evaluate("window.stayed"), "the page was not loaded anew"
    expect(select).to_be_focused()
    page.go_back()
    expect(shown.get_by_role("rowheader", name="Before: single")).to_be_visible()
    expect(select).to_have_value("mode:single:cached")


def test_it_works_without_scripts(compared: str, sit: Callable[..., Person]) -> None:
    person = sit("Viewer", java_script_enabled=False)
    page = person.page
    page.goto(compared)
    page.get_by_label("Compare", exact=True).select_option(label="v1 → v2")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("rowheader", name="Before: v1")).to_be_visible()


def test_the_file_holds_what_the_page_shows(compared: str, sit: Callable[..., Person]) -> None:
    page = sit("Viewer").page
    page.goto(f"{compared}&compare=mode:single:cached")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    text = download.value.path().read_text()
    assert text.splitlines()[1].startswith("single,")
    assert ",simulated" in text
