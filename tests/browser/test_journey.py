"""A pile of work, from the file to the file: by form, board, item page, review and export."""

import csv
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.person import Person
from tests.browser.place import Place

CONTRACT = """{"type": "object", "additionalProperties": false, "required": ["topic"],
 "properties": {"topic": {"enum": ["billing", "login"]}}}"""
TICKETS = 12
RECORD = """() => {
  // Lives as long as this page: a reload would end it.
  window.columnsOf = {};
  new MutationObserver(() => {
    for (const card of document.querySelectorAll("[id^=card-]")) {
      const column = card.closest("section").querySelector("h2").textContent;
      const seen = (window.columnsOf[card.id] ??= []);
      if (seen.at(-1) !== column) seen.push(column);
    }
  }).observe(document, { subtree: true, childList: true });
}"""


def test_a_batch_from_the_upload_to_the_export(
    place: Place, home: str, admin: Person, chromium, sit: Callable[..., Person]
) -> None:
    owner = Person(chromium, home, "owner1")
    owner.sign_in(admin.add("owner1", "Operator"))
    reviewer, viewer = sit("Reviewer"), sit("Viewer")
    for person in (owner, reviewer, viewer):
        person.page.goto("/")
        person.page.evaluate(RECORD)
    place.simulate(fail_containing={"poison": "refusal"}, latency=0.3)

    batch = create(owner.page, tickets(place.folder / "tickets.csv"))
    for person in (reviewer, viewer):
        expect(person.column_of(batch, "Review")).to_be_visible()
        expect(person.card(batch)).to_contain_text("1 dead")

    expect(owner.page.get_by_role("button", name="Send 1 again").first).to_be_visible()
    place.simulate(fail_containing={}, latency=0.2)
    send_the_dead_one_again(owner.page)
    expect(owner.page.locator("#figures")).to_contain_text(f"Succeeded{TICKETS}")
    for person in (reviewer, viewer):
        expect(person.card(batch)).not_to_contain_text("dead")

    reviewer.card(batch).get_by_role("link").first.click()
    reviewer.page.get_by_role("link", name="Review the sample").click()
    review_by_keyboard(reviewer.page)
    expect(viewer.column_of(batch, "Released")).to_be_visible()
    seen = viewer.page.evaluate("batch => columnsOf[`card-${batch}`]", batch)
    assert [column for column in seen if column != "Queued"] == [
        "Running", "Review", "Running", "Review", "Released",
    ]  # fmt: skip

    expect(owner.page.get_by_role("heading", name="Results")).to_be_visible()
    with owner.page.expect_download() as download:
        owner.page.get_by_role("link", name="CSV").click()
    rows = list(csv.DictReader(StringIO(Path(download.value.path()).read_text("utf-8-sig"))))
    assert [row["ticket"] for row in rows] == [f"T-{n}" for n in range(TICKETS)]
    assert {row["output.topic"] for row in rows} <= {"billing", "login"}
    expect(owner.page.locator("#results")).to_contain_text("Exported as CSV by owner1")
    assert owner.watch.problems == []
    owner.context.close()


def tickets(path: Path) -> Path:
    lines = [f"T-{n},{'poison' if n == 5 else 'words'} {n}" for n in range(TICKETS)]
    path.write_text("\n".join(["ticket,text", *lines]) + "\n")
    return path


def create(page: Page, file: Path) -> str:
    """A new batch with a task type written in the form; returns its public id."""
    page.get_by_role("link", name="New batch").click()
    page.locator("#file").set_input_files(file)
    expect(page.get_by_text("No bad rows")).to_be_visible()
    page.get_by_role("combobox", name="Task type").select_option("write")
    page.get_by_role("textbox", name="Task type name").fill("Topics")
    page.get_by_role("combobox", name="Model").select_option("claude-haiku-5-5")
    page.get_by_role("textbox", name="Most output tokens").fill("200")
    page.get_by_role("textbox", name="Key column").fill("ticket")
    page.get_by_role("textbox", name="Prompt", exact=True).fill("Sort {{ ticket }}: {{ text }}")
    page.get_by_role("textbox", name="Output contract").fill(CONTRACT)
    page.get_by_role("textbox", name="What a reviewer checks").fill("The topic fits")
    page.get_by_role("textbox", name="Name", exact=True).fill("Tickets of October")
    page.locator("#f-concurrency").fill("2")
    page.locator("#f-sample_size").fill("4")
    expect(page.locator("#first-prompt")).to_contain_text("Sort T-0: words 0")
    start = page.get_by_role("button", name=f"Start {TICKETS} items")
    expect(start).not_to_have_attribute("aria-disabled", "true")
    start.click()
    page.wait_for_url(re.compile(r"/batches/\w+/"))
    return re.search(r"/batches/(\w+)/", page.url)[1]


def send_the_dead_one_again(page: Page) -> None:
    page.get_by_role("navigation", name="Items by state").get_by_role("link", name="Dead").click()
    page.get_by_role("link", name="T-5").click()
    drawer = page.get_by_role("dialog", name="Item")
    expect(drawer.get_by_text("Refused").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(page.get_by_role("link", name="T-5")).to_be_focused()
    page.keyboard.press("x")
    page.get_by_role("button", name="Send 1 again").first.click()


def review_by_keyboard(page: Page) -> None:
    keys = page.keyboard
    judged = page.locator("#sample-head")
    expect(judged).to_contain_text("0 of 4 judged")
    keys.press("p")
    expect(judged).to_contain_text("1 of 4 judged")
    keys.press("f")
    note = page.get_by_role("textbox", name="Note")
    expect(note).to_be_focused()
    keys.type("Wrong topic. Press P.")
    keys.press("Control+Enter")
    expect(judged).to_contain_text("2 of 4 judged")
    expect(page.get_by_text("Fail: Wrong topic. Press P.")).to_be_visible()
    keys.press("z")
    expect(judged).to_contain_text("1 of 4 judged")
    keys.press("n")
    expect(note).to_be_focused()
    expect(note).to_have_value("Wrong topic. Press P.")
    keys.press("Control+a")
    keys.type("Right after all")
    keys.press("Escape")
    for count in (2, 3, 4):
        keys.press("p")
        expect(judged).to_contain_text(f"{count} of 4 judged")
    expect(page.get_by_text("Pass: Right after all")).to_be_visible()
    keys.press("a")
    sheet = page.get_by_role("dialog")
    approve = sheet.get_by_role("button", name=f"Approve and release {TICKETS} results")
    expect(approve).to_be_visible()
    for _ in range(3):
        if approve.evaluate("element => element === document.activeElement"):
            break
        keys.press("Tab")
    expect(approve).to_be_focused()
    keys.press("Enter")
    expect(page.get_by_text("Approved and released")).to_be_visible()
