"""What a person asked for while the server was out of reach is told, and can be asked for again."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.acceptance.installation import Installation
from tests.browser.person import Person


def test_a_verdict_that_could_not_be_sent_is_told_and_can_be_given_again(
    place: Installation, sit: Callable[..., Person]
) -> None:
    batch = place.submit(place.items(8, "away"), place.task_type(contract=True))
    place.wait(batch)
    person = sit("Reviewer")
    person.watch.expect("ERR_INTERNET_DISCONNECTED|htmx:sendError|htmx:afterRequest")
    page = person.page
    page.goto(f"/batches/{batch}/review/")
    title = page.locator("#item-title")
    first = title.inner_text()
    expect(page.get_by_text("Yours for 10 min")).to_be_visible()
    person.context.set_offline(True)
    page.keyboard.press("p")
    told = page.locator(".toast", has_text="nothing is known to have changed")
    expect(told).to_be_visible()
    expect(title).to_have_text(first)
    person.context.set_offline(False)
    page.keyboard.press("p")
    expect(title).not_to_have_text(first)
    expect(page.locator("#sample-head")).to_contain_text("1 of")
