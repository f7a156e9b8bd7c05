"""The way back on the board: a step undoes a filter, and a batch leads back to the same place."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.person import Person
from tests.browser.place import Place

LOW = {"viewport": {"width": 1440, "height": 500}}


@pytest.fixture(scope="module")
def last(place: Place) -> str:
    """The id of the last of so many batches in review that their column scrolls."""
    items, task_type = place.items(1, "way"), place.task_type(contract=True)
    for n in range(7):
        batch = place.submit(items, task_type, "--name", f"Back {n}")
        place.wait(batch)
    return batch


@pytest.fixture
def page(sit: Callable[..., Person]) -> Page:
    return sit("Operator", **LOW).page


def test_it_undoes_the_last_filter_and_stays_on_the_board(last: str, page: Page) -> None:
    page.goto("/account/")
    page.goto("/")
    name = page.get_by_role("searchbox", name="Filter by name")
    state = page.get_by_role("combobox", name="State")
    name.press_sequentially("Back 3", delay=250)
    expect(page.locator(".card-link")).to_have_count(1)
    state.select_option("paused")
    expect(page.get_by_role("heading", name="No batch matches")).to_be_visible()
    page.go_back()
    expect(page.locator(".card-link")).to_have_count(1)
    expect(state).to_have_value("")
    expect(name).to_have_value("Back 3")
    page.go_back()
    expect(name).to_have_value("")
    expect(page.locator("#card-" + last)).to_be_visible()
    assert page.url.endswith("/"), "the letters of one word are one step"
    page.go_forward()
    expect(name).to_have_value("Back 3")
    expect(page.locator(".card-link")).to_have_count(1)
    page.go_back()
    page.go_back()
    page.wait_for_url("**/account/")


def test_a_batch_leads_back_to_the_filtered_board_at_the_same_place(last: str, page: Page) -> None:
    page.goto("/")
    page.get_by_role("searchbox", name="Filter by name").fill("Back")
    page.wait_for_url("**/?q=Back")
    cards = page.locator("#cards-review")
    expect(cards.locator(".card-link")).to_have_count(7)
    page.locator(f"#open-{last}").scroll_into_view_if_needed()
    before = cards.evaluate("(list) => list.scrollTop")
    assert before > 100
    page.locator(f"#open-{last}").click()
    page.wait_for_url(re.compile(f"/batches/{last}/"))
    page.go_back()
    page.wait_for_url("**/?q=Back")
    expect(cards.locator(".card-link")).to_have_count(7)
    expect(page.get_by_role("searchbox", name="Filter by name")).to_have_value("Back")
    assert abs(cards.evaluate("(list) => list.scrollTop") - before) < 4
