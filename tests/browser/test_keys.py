"""Single keys: they act where they should, never while somebody types, and not where turned off."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.installation import Installation
from tests.browser.person import Person


@pytest.fixture(scope="module")
def pile(place: Installation) -> str:
    """A batch in review: two of its eight items are dead letters."""
    place.simulate(fail_containing={"some text 3": "refusal", "some text 6": "refusal"})
    task_type = place.task_type(contract=True)
    batch = place.submit(place.items(8, "keys"), task_type, "--name", "Keys")
    place.wait(batch)
    place.simulate(fail_containing={})
    return batch


@pytest.fixture
def page(sit: Callable[..., Person]) -> Page:
    return sit("Operator").page


def focused(page: Page) -> str:
    return page.evaluate("document.activeElement.id")


def test_they_lead_from_page_to_page(pile: str, page: Page) -> None:
    keys = page.keyboard
    page.goto("/account/")
    for leads, address in (
        ("gl", "/limits/"), ("gc", "/costs/"), ("gt", "/task-types/"), ("gb", "/"), ("c", "/new/"),
    ):  # fmt: skip
        for key in leads:
            keys.press(key)
        page.wait_for_url(re.compile(rf"localhost:\d+{address}"))
    page.goto("/limits/")
    keys.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    keys.press("g")
    keys.press("b")
    keys.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    keys.press("/")
    expect(page.get_by_role("combobox", name="Search batches and items")).to_be_focused()
    keys.type("gbc?")
    expect(page.get_by_role("combobox", name="Search batches and items")).to_have_value("gbc?")
    assert page.url.endswith("/limits/")


def test_they_act_in_the_moment_in_which_a_dialog_closes(page: Page) -> None:
    page.goto("/limits/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    # Within one task, so that the browser has had no frame in which to move the focus.
    page.evaluate("""() => {
        document.getElementById("keys").close();
        const key = { key: "/", bubbles: true, cancelable: true };
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", key));
    }""")
    expect(page.get_by_role("combobox", name="Search batches and items")).to_be_focused()


def test_they_walk_over_the_board_and_act_on_a_card(pile: str, page: Page) -> None:
    keys = page.keyboard
    page.goto("/")
    keys.press("j")
    first = focused(page)
    assert first.startswith("open-")
    for there, back in (
        ("l", "h"),
        ("ArrowRight", "ArrowLeft"),
        ("j", "k"),
        ("ArrowDown", "ArrowUp"),
    ):
        before = focused(page)
        keys.press(there)
        after = focused(page)
        assert after.startswith("open-")
        keys.press(back)
        if after != before and there in {"j", "ArrowDown"}:
            assert focused(page) == before
    keys.press("f")
    expect(page.get_by_role("searchbox", name="Filter by name")).to_be_focused()
    keys.type("Keys")
    expect(page.locator(".card-link")).to_have_count(1)
    keys.press("Escape")
    page.locator(f"#open-{pile}").focus()
    keys.press("m")
    menu = page.get_by_role("dialog", name="Keys")
    expect(menu).to_be_visible()
    keys.press("Escape")
    expect(menu).to_be_hidden()
    assert focused(page) == f"open-{pile}"
    keys.press("p")
    expect(page.locator(".toast")).to_be_visible()
    keys.press("Enter")
    page.wait_for_url(f"**/batches/{pile}/")


def test_they_pause_and_resume_a_batch_that_runs(place: Installation, page: Page) -> None:
    place.simulate(latency=2)
    batch = place.submit(
        place.items(6, "pause"), place.task_type(contract=True), "--concurrency", "1"
    )
    page.goto(f"/batches/{batch}/")
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.goto("/")
    page.locator(f"#open-{batch}").focus()
    page.keyboard.press("p")
    expect(page.locator(f"#card-{batch}")).to_contain_text("Paused")
    place.simulate(latency=0.2)


def test_they_walk_select_and_open_items(pile: str, page: Page) -> None:
    keys = page.keyboard
    page.goto(f"/batches/{pile}/")
    for key in "jjkj":
        keys.press(key)
    expect(page.get_by_role("link", name="keys-1", exact=True)).to_be_focused()
    keys.press("x")
    expect(page.get_by_text("1 selected")).to_be_visible()
    keys.press("x")
    expect(page.get_by_text("1 selected")).to_be_hidden()
    keys.press("Enter")
    drawer = page.get_by_role("dialog", name="Item")
    expect(drawer.get_by_role("heading", name="keys-1")).to_be_focused()
    keys.press("j")
    expect(drawer.get_by_role("heading", name="keys-2")).to_be_focused()
    keys.press("k")
    expect(drawer.get_by_role("heading", name="keys-1")).to_be_focused()
    keys.press("r")
    expect(drawer.locator("[data-raw]")).to_have_attribute("open", "")
    keys.press("Escape")
    expect(drawer).to_be_hidden()
    expect(page.get_by_role("link", name="keys-1", exact=True)).to_be_focused()
    keys.press("/")
    keys.type("keys-3r")
    expect(page.locator("#item-search input[type=search]")).to_have_value("keys-3r")


def test_an_item_has_its_keys_on_a_page_of_its_own_too(pile: str, page: Page) -> None:
    keys = page.keyboard
    page.goto(f"/batches/{pile}/items/keys-3")
    keys.press("k")
    page.wait_for_url(re.compile("/items/keys-2$"))
    keys.press("r")
    expect(page.locator("[data-raw]")).to_have_attribute("open", "")
    keys.press("j")
    page.wait_for_url(re.compile("/items/keys-3$"))
    keys.press("?")
    keys.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    assert page.url.endswith("/items/keys-3"), "it closed the keys, not the item"
    keys.press("Escape")
    page.wait_for_url(re.compile(f"/batches/{pile}/$"))


def test_r_sends_one_dead_item_again_that_is_looked_at(place: Installation, page: Page) -> None:
    place.simulate(fail_containing={"some text 2": "refusal", "some text 4": "refusal"})
    items, task_type = place.items(6, "again"), place.task_type(contract=True)
    batch = place.submit(items, task_type, "--name", "Again")
    place.wait(batch)
    place.simulate(fail_containing={})
    page.goto(f"/batches/{batch}/")
    page.get_by_role("checkbox", name="again-4").check()
    page.get_by_role("link", name="again-2", exact=True).click()
    expect(page.get_by_role("dialog", name="Item")).to_contain_text("Send again")
    page.keyboard.press("r")
    expect(page.get_by_text("1 item is sent again.")).to_be_visible()
    expect(page.locator("#figures")).to_contain_text("Succeeded5")
    assert place.batch("show", batch)["counts"]["dead"] == 1


def test_r_sends_what_is_dead_again(pile: str, place: Installation, page: Page) -> None:
    page.goto(f"/batches/{pile}/")
    page.get_by_role("textbox", name="Write a comment").focus()
    page.keyboard.type("r x p")
    assert place.batch("show", pile)["counts"]["dead"] == 2
    page.get_by_role("textbox", name="Write a comment").blur()
    page.keyboard.press("r")
    expect(page.locator("#figures")).to_contain_text("Succeeded8")


def test_who_turned_them_off_has_none(pile: str, sit: Callable[..., Person]) -> None:
    page = sit("Reviewer").page
    page.goto("/account/")
    page.get_by_role("checkbox", name="Single keys act").uncheck()
    page.get_by_role("button", name="Save").click()
    try:
        expect(page.locator("body")).to_have_attribute("data-keys", "off")
        for address in ("/", f"/batches/{pile}/", f"/batches/{pile}/review/"):
            page.goto(address)
            was = focused(page)
            judged = page.locator(".is-pass, .is-fail").count()
            for key in "jxpgl?":
                page.keyboard.press(key)
            assert page.url.endswith(address)
            assert focused(page) == was
            assert page.locator("dialog[open]").count() == 0
            assert page.locator(".is-pass, .is-fail").count() == judged
        page.goto(f"/batches/{pile}/")
        page.get_by_role("link", name="keys-1", exact=True).click()
        heading = page.get_by_role("dialog", name="Item").get_by_role("heading", name="keys-1")
        expect(heading).to_be_focused()
        page.keyboard.press("j")
        page.keyboard.press("r")
        expect(heading).to_be_visible()
        assert page.locator("[data-raw][open]").count() == 0
        page.keyboard.press("Escape")
        expect(heading).to_be_hidden()
    finally:
        page.goto("/account/")
        page.get_by_role("checkbox", name="Single keys act").check()
        page.get_by_role("button", name="Save").click()
