"""Everybody can use every page: axe finds nothing, in both schemes, at a desk and on a phone."""

import json
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import present
from tests.browser.person import DESK, PHONE, Person
from tests.browser.place import Place

RUN = """async (options) => {
  const shown = { exclude: [["#estimate.htmx-request"]] };
  const { violations } = await axe.run(shown, { ...options, resultTypes: ["violations"] });
  return violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`));
}"""
ALL = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
"""All of what a scheme changes."""


@pytest.fixture(scope="module")
def batches(place: Place) -> dict[str, str]:
    """One batch in review with a dead letter, and one in another mode to hold against it."""
    place.simulate(fail_containing={"some text 3": "refusal"})
    items, task_type = place.items(5, "access"), place.task_type(contract=True)
    review = place.submit(items, task_type, "--name", "[Batch] To judge", "--sample", "3")
    place.wait(review)
    place.simulate(fail_containing={})
    place.wait(place.submit(items, task_type, "--mode", "single"))
    place.run("recurring", "add", "--from-batch", review, "--task-type", "Count", "--cron",
              "0 9 * * 1", "--zone", "Europe/Berlin", "--budget", "2")  # fmt: skip
    arms = ("--arm", "single", "--arm", "packed:k=2", "--n", "5", "--json")
    made = place.run("experiment", "run", items, "--task-type", task_type, "--wait", *arms)
    return {"review": review, "experiment": json.loads(made)["id"]}


PAGES = {
    "board": "/",
    "board, moved": "/",
    "new batch": "/new/",
    "batch": "/batches/{review}/",
    "item": "/batches/{review}/",
    "item, page": "/batches/{review}/items/access-0",
    "review": "/batches/{review}/review/",
    "approval": "/batches/{review}/review/approval",
    "rejection": "/batches/{review}/review/rejection",
    "settings": "/batches/{review}/settings",
    "experiments": "/experiments/",
    "experiment": "/experiments/{experiment}/",
    "experiment, compared": "/costs/?experiment={experiment}",
    "new experiment": "/experiments/new/?type=1",
    "task types": "/task-types/",
    "task type": "/task-types/1/",
    "task type, edited": "/task-types/1/edit",
    "costs": "/costs/",
    "estimates": "/costs/estimates/",
    "recurring": "/recurring/",
    "recurring, one": "/recurring/",
    "recurring, new": "/recurring/new/?batch={review}",
    "limits": "/limits/",
    "ledger": "/costs/ledger/?by=type",
    "ledger, one group": "/costs/ledger/?by=mode&group=cached",
    "people": "/people/",
    "person": "/people/1/",
    "account": "/account/",
    "password": "/password/",
    "keys": "/account/",
    "search": "/search/?q=access",
}


COVERED = """() => {
  const field = document.activeElement;
  const sheet = document.getElementById("estimate");
  const [one, other] = [field.getBoundingClientRect(), sheet.getBoundingClientRect()];
  const covers = !sheet.contains(field) && one.bottom > other.top + 1 && one.top < other.bottom;
  return [field.name || field.id, covers];
}"""


def fill(page: Page, place: Place) -> Page:
    """A new batch with the rows of a file."""
    page.goto("/new/")
    page.locator("#file").set_input_files(place.items(4, "filled"))
    page.get_by_text("No bad rows").wait_for(timeout=60_000)
    return page


def axe(person: Person) -> dict[str, list[str]]:
    """Findings by scheme and width, of a page that is loaded once. It is seen in whole: a bar at
    the foot of the window hides nothing that cannot be scrolled. An estimate that is being made
    again is dimmed, and left out."""
    page, found = person.page, {}
    assert person.watch.problems == []
    person.watch.leave(page)  # axe tries what the content policy forbids
    page.evaluate(AXE_SCRIPT)
    for name, size in (("desk", DESK), ("phone", PHONE)):
        page.set_viewport_size(size)
        tall = page.evaluate("Math.max(document.documentElement.scrollHeight, innerHeight)")
        page.set_viewport_size({**size, "height": tall})
        for scheme, rules in (("light", ALL), ("dark", COLOURS)):
            page.emulate_media(color_scheme=scheme)
            found[f"{name}, {scheme}"] = page.evaluate(RUN, rules)
    return {where: what for where, what in found.items() if what}


@pytest.fixture(scope="module")
def administrator(chromium: Browser, home: str, admin: Person) -> Iterator[Person]:
    """One for all pages here: their styles and scripts are fetched once."""
    state = admin.context.storage_state()
    with present(Person(chromium, home, "admin", storage_state=state)) as person:
        yield person


@pytest.fixture
def person(administrator: Person) -> Iterator[Person]:
    """The administrator at a new tab."""
    administrator.page = administrator.context.new_page()
    yield administrator
    administrator.page.close()


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(batches: dict[str, str], person: Person, name: str) -> None:
    page = person.page
    page.goto(PAGES[name].format(**batches))
    match name:
        case "item":
            page.locator(".row-link").first.click()
            page.locator("#item-shown").wait_for()
        case "recurring, one":
            page.locator(".row-link").first.click()
            page.locator("#recurring-head").wait_for()
        case "keys":
            page.keyboard.press("?")
        case "board, moved":
            page.locator(f"#open-{batches['review']}").focus()
            page.keyboard.press("m")
            page.get_by_role("dialog").wait_for()
    assert axe(person) == {}


def test_axe_finds_nothing_in_a_form_that_is_filled(
    place: Place, batches: dict[str, str], person: Person
) -> None:
    page = fill(person.page, place)
    page.get_by_role("combobox", name="Task type").select_option("write")
    page.get_by_role("textbox", name="Output contract").fill("{")
    expect(page.locator("#f-d-contract")).to_have_attribute("aria-invalid", "true")
    assert axe(person) == {}


def test_the_estimate_covers_no_field_that_gets_the_focus_on_a_phone(
    place: Place, batches: dict[str, str], sit: Callable[..., Person]
) -> None:
    page = fill(sit("Operator", viewport=PHONE).page, place)
    page.get_by_role("combobox", name="Task type").select_option(index=1)
    expect(page.locator("#expected")).to_contain_text("$")
    page.locator("#f-task_type").focus()
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        name, covered = page.evaluate(COVERED)
        seen.append(name)
        assert not covered, name
        if name == "start":
            break
    assert {"name", "sample_size", "start"} <= set(seen)


def test_axe_finds_nothing_where_people_sign_in(chromium: Browser, home: str) -> None:
    stranger = Person(chromium, home, "nobody")
    stranger.page.goto("/sign-in/")
    assert axe(stranger) == {}
    stranger.context.close()
