"""Many tabs of one browser: they share one stream, so that none of them has to wait."""

import time
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import Page, Request, expect

from tests.browser.person import Person
from tests.browser.place import Place
from tests.servers import until

TABS = 8
LOADS_WITHIN = 5.0
"""Seconds; a browser has six connections, and a seventh stream would wait for ever."""


class Streams:
    """Those that the tabs of a person opened and that have not ended."""

    def __init__(self, person: Person) -> None:
        self._opened: list[Request] = []
        person.context.on("request", self._opens)
        person.context.on("requestfailed", self._ends)
        person.context.on("requestfinished", self._ends)

    def __len__(self) -> int:
        """A tab that is closed ends its stream, and no event tells of that."""
        return sum(not request.frame.page.is_closed() for request in self._opened)

    def _opens(self, request: Request) -> None:
        if urlsplit(request.url).path == "/live":
            self._opened.append(request)

    def _ends(self, request: Request) -> None:
        if request in self._opened:
            self._opened.remove(request)


def test_eight_tabs_all_hear_and_the_eighth_loads_at_once(
    place: Place, sit: Callable[..., Person]
) -> None:
    person = sit("Operator")
    open_streams = Streams(person)
    task_type = place.task_type(contract=True)
    batches = [place.submit(place.items(4, f"tab{n}"), task_type) for n in range(3)]
    for batch in batches:
        place.wait(batch)
    addresses = ["/", *(f"/batches/{batch}/" for batch in batches)] * 2
    tabs: list[Page] = [person.page, *(person.context.new_page() for _ in range(TABS - 1))]
    for tab, address in zip(tabs, addresses, strict=True):
        began = time.monotonic()
        tab.goto(address)
        tab.evaluate("window.heard = []")
        tab.evaluate(
            "document.addEventListener('htmx:sseMessage', (e) => heard.push(e.detail.type))"
        )
        expect(tab.locator("h1").first).to_be_attached()
        assert time.monotonic() - began < LOADS_WITHIN, address
    until(lambda: len(open_streams) == 1, 10, "one stream for all tabs")

    new = place.submit(place.items(4, "seen"), task_type)
    for tab, address in zip(tabs, addresses, strict=True):
        if address == "/":
            expect(tab.locator(f"#card-{new}")).to_be_attached()
        else:
            tab.wait_for_function("heard.includes('board')")
        expect(tab.get_by_text("Live updates lost")).to_be_hidden()
    assert len(open_streams) == 1

    tabs[0].close()  # it was the first, so the stream was its own
    last = place.submit(place.items(4, "after"), task_type)
    expect(tabs[4].locator(f"#card-{last}")).to_be_attached()
    until(lambda: len(open_streams) == 1, 10, "one stream again")
    place.wait(new)
    place.wait(last)


def test_what_is_for_one_page_changes_no_other(place: Place, sit: Callable[..., Person]) -> None:
    """Two batches have figures of the same name: each page takes its own."""
    person = sit("Operator")
    task_type = place.task_type(contract=True)
    small = place.submit(place.items(3, "small"), task_type)
    place.wait(small)
    place.simulate(latency=0.3)
    large = place.submit(place.items(20, "large"), task_type, "--concurrency", "4")
    other = person.context.new_page()
    person.page.goto(f"/batches/{small}/")
    still = person.page.locator("#figures").inner_text()
    other.goto(f"/batches/{large}/")
    expect(other.locator("#figures")).to_contain_text("20")
    place.simulate(latency=0.2)
    place.wait(large)
    expect(other.locator("h1").first).to_be_attached()
    assert person.page.locator("#figures").inner_text() == still


def test_without_locks_each_tab_has_a_stream_of_its_own(
    place: Place, sit: Callable[..., Person]
) -> None:
    person = sit("Operator")
    open_streams = Streams(person)
    person.context.add_init_script("Object.defineProperty(navigator, 'locks', {value: undefined})")
    tabs = [person.page, person.context.new_page()]
    for tab in tabs:
        tab.goto("/")
    batch = place.submit(place.items(3, "own"), place.task_type(contract=True))
    for tab in tabs:
        expect(tab.locator(f"#card-{batch}")).to_be_attached()
    assert len(open_streams) == 2
    place.wait(batch)
