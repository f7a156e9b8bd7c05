"""What arrives by itself: without a shift, and again after the server was away."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.acceptance.installation import Installation
from tests.browser.person import Person
from tests.servers import until

MOST = 0.01
WATCH = """() => {
  window.shifted = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const name = ({ node }) => node?.id || node?.className || node?.nodeName;
      const sources = entry.sources.map(name);
      window.shifted.push([entry.value, sources.join(", ")]);
    }
  }).observe({ type: "layout-shift" });
}"""


@pytest.fixture
def running(place: Installation) -> Iterator[str]:
    """A batch that has just begun."""
    place.simulate(latency=0.5)
    task_type = place.task_type(contract=True)
    batch = place.submit(place.items(60, "live"), task_type, "--concurrency", "10")
    yield batch
    place.simulate(latency=0.2)
    place.wait(batch)


def ended(place: Installation, batch: str) -> int:
    (number,) = place.read("SELECT ended FROM batchboard_batch WHERE public_id = %s", batch)
    return number


@pytest.mark.parametrize("address", ["/", "/batches/{}/"], ids=["board", "batch"])
def test_updates_shift_nothing(
    running: str, place: Installation, sit: Callable[..., Person], address: str
) -> None:
    page = sit("Operator").page
    page.goto(address.format(running))
    page.evaluate(WATCH)
    before = ended(place, running)
    until(lambda: ended(place, running) >= before + 20, 30, "progress")
    shown = page.locator(f"#card-{running}" if address == "/" else "#figures")
    expect(shown).to_contain_text("60")
    shifted = page.evaluate("shifted")
    assert sum(value for value, _ in shifted) < MOST, shifted


def test_a_page_finds_back_after_the_web_server_died(
    place: Installation, sit: Callable[..., Person]
) -> None:
    place.simulate(latency=0.5)
    person = sit("Operator")
    person.watch.expect("ERR_|htmx:|Failed to load resource|502|503")
    page = person.page
    page.goto("/")
    page.evaluate("window.here = true")
    died = place.kill("web")
    batch = place.submit(place.items(4, "back"), place.task_type(contract=True))
    until(lambda: place.pid("web") not in {died, None}, 20, "a new web server")
    expect(person.column_of(batch, "Review")).to_be_visible(timeout=20_000)
    expect(page.get_by_text("Live updates lost")).to_be_hidden()
    assert page.evaluate("window.here")
    place.simulate(latency=0.2)
