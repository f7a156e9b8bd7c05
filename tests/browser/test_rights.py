"""What roles mean at a browser: who may not act has nothing to press, and forging is refused."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.person import Person
from tests.browser.place import Place


@pytest.fixture(scope="module")
def reviewed(place: Place) -> str:
    """A batch of three that waits for its review; started at the command line, by nobody."""
    batch = place.submit(place.items(3, "rights"), place.task_type(contract=True))
    place.wait(batch)
    return batch


def test_a_viewer_finds_nothing_to_press(reviewed: str, sit: Callable[..., Person]) -> None:
    viewer = sit("Viewer")
    viewer.watch.expect(r"status of 403 .*/new/")
    for address in ("", "review/"):
        viewer.page.goto(f"/batches/{reviewed}/{address}")
        working = viewer.page.locator('#main button:not([aria-disabled="true"]):visible')
        names = [button.inner_text() for button in working.all()]
        assert set(names) <= {"Fields", "Raw R"}, address
    for address in ("/limits/", "/new/", "/task-types/"):
        viewer.page.goto(address)
        working = viewer.page.locator('#main button:not([aria-disabled="true"]):visible')
        assert working.count() == 0, address


FORGED = (
    "comments", "run", "pause", "cancellation", "second-try", "item-cancellation", "settings",
    "review/verdict", "review/retraction", "review/draw", "review/approval", "review/rejection",
)  # fmt: skip


def test_a_viewers_forged_requests_are_refused(
    place: Place, reviewed: str, sit: Callable[..., Person]
) -> None:
    viewer = sit("Viewer")
    viewer.page.goto("/")
    form = {"csrfmiddlewaretoken": viewer.token(), "verdict": "pass", "item": "rights-0"}
    addresses = [f"/batches/{reviewed}/{verb}" for verb in FORGED]
    addresses += ["/limits/", "/limits/pause", "/people/", "/task-types/new/"]
    for address in addresses:
        answer = viewer.page.request.post(
            address, form=form, headers={"Referer": viewer.home}, max_redirects=0
        )
        assert answer.status == 403, address
        assert "CSRF" not in answer.text()
        assert "may" in answer.text()
    assert place.batch("show", reviewed)["state"] == "review"


def test_where_the_rule_says_so_the_starter_waits_for_somebody_else(
    place: Place, sit: Callable[..., Person]
) -> None:
    starter, other = sit("Administrator"), sit("Reviewer")
    may = starter.page.get_by_role("combobox", name="Who started a batch")
    starter.page.goto("/limits/")
    may.select_option("no")
    starter.page.locator("#limits-form").get_by_role("button", name="Save").click()
    batch = start_a_draft(place, starter.page)
    judge_all(starter.page, batch)
    approve = starter.page.get_by_role("button", name="Approve and release 3 results")
    expect(approve).to_have_attribute("aria-disabled", "true")
    expect(starter.page.locator("#why-not")).to_contain_text("started")
    answer = starter.page.request.post(
        f"/batches/{batch}/review/approval",
        form={"csrfmiddlewaretoken": starter.token()},
        headers={"Referer": starter.home},
    )
    assert place.batch("show", batch)["state"] == "review", answer.status

    other.page.goto(f"/batches/{batch}/review/")
    other.page.keyboard.press("a")
    other.page.get_by_role("button", name="Approve and release 3 results").last.click()
    expect(other.page.get_by_text("Approved and released")).to_be_visible()
    expect(starter.page.get_by_text("Approved and released")).to_be_visible()
    place.run("limits", "--starter-may-approve", "yes")


def start_a_draft(place: Place, page: Page) -> str:
    """Three items of a task type that exists, by the form, so that it is known who started them."""
    place.wait(place.submit(place.items(1, "first"), place.task_type(name="Ruled", contract=True)))
    page.goto("/new/")
    page.locator("#file").set_input_files(place.items(3, "rule"))
    expect(page.get_by_text("No bad rows")).to_be_visible()
    page.get_by_role("combobox", name="Task type").select_option(label="Ruled v1")
    start = page.get_by_role("button", name="Start 3 items")
    expect(start).not_to_have_attribute("aria-disabled", "true")
    start.click()
    page.wait_for_url(re.compile(r"/batches/\w+/"))
    batch = re.search(r"/batches/(\w+)/", page.url)[1]
    place.wait(batch)
    return batch


def judge_all(page: Page, batch: str) -> None:
    page.goto(f"/batches/{batch}/review/")
    for count in (1, 2, 3):
        page.keyboard.press("p")
        expect(page.locator("#sample-head")).to_contain_text(f"{count} of 3 judged")
