"""What arrives by itself: without a shift, and again after the server was away."""

import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.acceptance.installation import Installation
from tests.browser.person import DESK, PHONE, Person
from tests.servers import until

MOST = 0.005
MOST_AT_ONCE = 0.01
"""Of one shift: when a batch begins every figure and button gets what it is at once, beside each
other, while a line that is pushed down is twice as much."""

ITEMS = 100
WATCH = """() => {
  window.shifted = [];
  const name = (node) => node?.id || node?.className || node?.nodeName;
  const place = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
  const said = ({ node, previousRect, currentRect }) =>
    `${name(node)} (${place(previousRect)} -> ${place(currentRect)})`;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      window.shifted.push([entry.value, entry.sources.map(said).join(", ")]);
    }
  }).observe({ type: "layout-shift" });
}"""


@pytest.fixture
def running(place: Installation) -> Iterator[str]:
    """A batch that has just begun, and that meets some trouble."""
    place.simulate(latency=0.4, rate_529=0.05, fail_containing={"some text 33": "refusal"})
    task_type = place.task_type(contract=True)
    batch = place.submit(place.items(ITEMS, "live"), task_type, "--concurrency", "10")
    until(lambda: ended(place, batch), 30, "its beginning")
    yield batch
    place.simulate(latency=0.2, rate_529=0, fail_containing={})
    place.wait(batch)


def ended(place: Installation, batch: str) -> int:
    (number,) = place.read(
        "SELECT succeeded + dead + cancelled FROM batchboard_batch WHERE public_id = %s", batch
    )
    return number


@pytest.mark.parametrize("address", ["/", "/batches/{}/"], ids=["board", "batch"])
def test_updates_shift_nothing(
    running: str, place: Installation, sit: Callable[..., Person], address: str
) -> None:
    page = sit("Operator").page
    page.goto(address.format(running))
    page.evaluate(WATCH)
    before = ended(place, running)
    until(lambda: ended(place, running) >= min(before + 20, ITEMS), 30, "progress")
    if address == "/":
        expect(page.locator(f"#card-{running}")).to_contain_text(f"{ITEMS}")
    else:
        expect(page.get_by_role("link", name="Review the sample")).to_be_visible(timeout=120_000)
    shifted = page.evaluate("shifted")
    print(shifted)
    assert sum(value for value, _ in shifted) < MOST, shifted


@pytest.fixture
def queued(place: Installation) -> Iterator[tuple[str, str]]:
    """A batch that waits, and the one ahead of it, which holds all slots until it is cancelled."""
    place.simulate(latency=100)
    task_type = place.task_type(contract=True)
    cap = json.loads(place.run("limits", "--json"))["concurrency"]
    ahead = place.submit(place.items(cap, "ahead"), task_type)
    until(lambda: place.statistics()["in_flight"] == cap, 30, "the calls ahead")
    name = "[Batch] The weekly scan of all that our competitors changed on their pages"
    items = place.items(100, "behind")  # so many that it does not end while its beginning is seen
    batch = place.submit(items, task_type, "--name", name, "--budget", "2.00")
    place.simulate(latency=1)
    yield batch, ahead
    place.simulate(latency=0.2)
    place.wait(batch)


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_a_queued_batch_begins_without_a_shift(
    queued: tuple[str, str],
    place: Installation,
    sit: Callable[..., Person],
    viewport: dict[str, int],
) -> None:
    batch, ahead = queued
    page = sit("Operator", viewport=viewport).page
    page.goto(f"/batches/{batch}/")
    head = page.locator("#batch-head")
    expect(head.get_by_text("Queued", exact=True)).to_be_visible()
    page.evaluate(WATCH)
    place.run("batch", "cancel", ahead)
    expect(head.get_by_text("Queued", exact=True)).to_be_hidden()
    until(lambda: ended(place, batch) >= 5, 30, "progress")
    shifted = page.evaluate("shifted")
    print(shifted)
    assert max((value for value, _ in shifted), default=0) < MOST_AT_ONCE, shifted


def test_the_plot_of_a_batch_tells_its_end_at_once(
    place: Installation, sit: Callable[..., Person]
) -> None:
    place.simulate(latency=0.5)
    task_type = place.task_type(contract=True)
    batch = place.submit(place.items(20, "ends"), task_type, "--concurrency", "4")
    page = sit("Operator").page
    page.goto(f"/batches/{batch}/")
    expect(page.get_by_role("link", name="Review the sample")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("heading", name="How it ran")).to_be_visible(timeout=1_000)
    names = page.locator("#plot-shown .plot-name")
    expect(names.filter(has_text="in flight")).to_have_text("in flight", timeout=2_000)
    place.simulate(latency=0.2)


def test_a_page_finds_back_after_the_web_server_died(
    place: Installation, admin: Person, sit: Callable[..., Person]
) -> None:
    place.simulate(latency=0.5)
    person = sit("Operator")
    for one in (admin, person):  # whoever has a page open sees its stream end
        one.watch.expect(r"ERR_|htmx:|Failed to load resource|502|503|\[object Event\]")
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
