"""Twice the size, or the system's own colours: nothing is lost."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.person import DESK, PHONE, Person
from tests.browser.place import Place

ZOOMED = {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2}
"""What a page has of a window of 1280 by 800 at 200 %."""

TOO_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => one.id || one.className)
  .slice(0, 5)"""
PAGES = {
    "board": "/",
    "batch": "/batches/{}/",
    "review": "/batches/{}/review/",
    "new": "/new/",
    "limits": "/limits/",
    "task types": "/task-types/",
    "people": "/people/",
}


@pytest.fixture(scope="module")
def batch(place: Place) -> str:
    """One in review, with a dead letter."""
    place.simulate(fail_containing={"some text 3": "refusal"})
    items, task_type = place.items(12, "zoom"), place.task_type(contract=True)
    found = place.submit(items, task_type, "--name", "[Batch] Seen large", "--sample", "3")
    place.wait(found)
    place.simulate(fail_containing={})
    return found


def test_no_page_scrolls_sideways_at_twice_the_size(batch: str, sit: Callable[..., Person]) -> None:
    page = sit("Administrator", **ZOOMED).page
    found = {}
    for name, address in PAGES.items():
        page.goto(address.format(batch))
        page.wait_for_load_state()
        width = page.evaluate("document.scrollingElement.scrollWidth")
        if width > ZOOMED["viewport"]["width"]:
            found[name] = (width, page.evaluate(TOO_WIDE))
    assert found == {}


def test_a_bar_and_the_focus_are_seen_in_the_colours_of_the_system(
    batch: str, sit: Callable[..., Person]
) -> None:
    page = sit("Operator", forced_colors="active", viewport=DESK).page
    page.goto(f"/batches/{batch}/")
    grounds = {
        state: page.locator(f"#progress .{state}").first.evaluate(
            "(one) => getComputedStyle(one).backgroundColor"
        )
        for state in ("succeeded", "dead")
    }
    canvas = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert len({*grounds.values(), canvas}) == 3, "each state has a ground of its own"
    page.goto("/")
    page.keyboard.press("j")
    link = page.locator(".card-link:focus")
    expect(link).to_have_count(1)
    rings = link.evaluate("""(one) => [one, one.closest(".card")].map((element) => {
      const style = getComputedStyle(element);
      return `${style.outlineStyle} ${style.outlineWidth}`;
    })""")
    assert "solid 2px" in rings


BESIDE = """([count, cut]) => {
  const bar = document.querySelector(".slots");
  const name = (n) => (n < 10 ? "filled" : n < count - cut ? "free" : "cut");
  bar.replaceChildren(...Array.from({ length: count }, (_, n) => {
    const slot = document.createElement("i");
    slot.className = name(n);
    return slot;
  }));
  const edges = [...bar.children].map((slot) => slot.getBoundingClientRect());
  const apart = edges.every(({ left }, n) => !n || left >= edges[n - 1].right - 0.01);
  return apart && edges.at(-1).right <= bar.getBoundingClientRect().right + 0.5;
}"""


@pytest.mark.parametrize("slots", [[20, 4], [40, 12]], ids=["20", "40"])
def test_slots_stand_beside_each_other_on_a_phone(
    sit: Callable[..., Person], slots: list[int]
) -> None:
    page = sit("Operator", viewport=PHONE).page
    page.goto("/limits/")
    assert page.evaluate(BESIDE, slots)
