"""Twice the size, or the system's own colours: nothing is lost."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.acceptance.installation import Installation
from tests.browser.person import DESK, PHONE, Person

ZOOMED = {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2}
"""What a page has of a window of 1280 by 800 at 200 %."""

TOO_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map((one) => one.id || one.className)
  .slice(0, 5)"""
PAGES = {
    "board": "/",
    "batch": "/batches/{batch}/",
    "item": "/batches/{batch}/items/zoom-3",
    "review": "/batches/{batch}/review/",
    "approval": "/batches/{batch}/review/approval",
    "rejection": "/batches/{batch}/review/rejection",
    "settings": "/batches/{batch}/settings",
    "new": "/new/",
    "new, filled": "{filled}",
    "limits": "/limits/",
    "costs": "/costs/",
    "costs of an experiment": "/costs/?experiment={experiment}",
    "estimates": "/costs/estimates/",
    "ledger": "/costs/ledger/?by=mode&group=cached",
    "experiments": "/experiments/",
    "experiment": "/experiments/{experiment}/",
    "new experiment": "/experiments/new/?type=1",
    "recurring": "/recurring/",
    "new recurring": "/recurring/new/?batch={batch}",
    "task types": "/task-types/",
    "task type": "/task-types/1/",
    "task type, edited": "/task-types/1/edit",
    "search": "/search/?q=zoom",
    "people": "/people/",
    "person": "/people/1/",
    "account": "/account/",
    "password": "/password/",
}
NARROW = {"width": 320, "height": 640}
"""What a window of 1280 has at 400 %, where nothing may scroll in two directions."""

SIZES = {
    "twice the size": (ZOOMED, []),
    "phone": ({"viewport": PHONE, "is_mobile": True, "has_touch": True}, [NARROW]),
}
"""A window, and the sizes that it is made then."""


@pytest.fixture(scope="module")
def batch(place: Installation) -> str:
    """One in review, with a dead letter."""
    place.simulate(fail_containing={"some text 3": "refusal"})
    items, task_type = place.items(12, "zoom"), place.task_type(contract=True)
    found = place.submit(items, task_type, "--name", "[Batch] Seen large", "--sample", "3")
    place.wait(found)
    place.simulate(fail_containing={})
    return found


@pytest.fixture(scope="module")
def experiment(place: Installation) -> str:
    """One that ended, in two ways."""
    items, task_type = place.items(8, "zoom-arms"), place.task_type(contract=True)
    arms = ("--arm", "single", "--arm", "packed:k=2", "--n", "8", "--json")
    made = place.run("experiment", "run", items, "--task-type", task_type, "--wait", *arms)
    return json.loads(made)["id"]


@pytest.mark.parametrize(("window", "then"), SIZES.values(), ids=SIZES)
def test_no_page_scrolls_sideways(
    batch: str,
    experiment: str,
    place: Installation,
    sit: Callable[..., Person],
    window: dict[str, Any],
    then: list[Any],
) -> None:
    page = sit("Administrator", **window).page
    page.goto("/new/")
    page.locator("#file").set_input_files(place.items(12, "zoom-new", "a text of some length"))
    expect(page.get_by_text("No bad rows")).to_be_visible()
    page.get_by_role("combobox", name="Task type").select_option(index=1)
    expect(page.locator("#expected")).to_contain_text("$")
    filled = page.url
    found = {}
    for name, address in PAGES.items():
        page.goto(address.format(batch=batch, experiment=experiment, filled=filled))
        page.wait_for_load_state()
        for size in (window["viewport"], *then):
            page.set_viewport_size(size)
            width = page.evaluate("document.scrollingElement.scrollWidth")
            if width > size["width"]:
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


def test_the_cap_is_shown_whole_in_whatever_room_it_has(sit: Callable[..., Person]) -> None:
    page = sit("Operator", viewport=DESK).page
    page.goto("/limits/")
    edges = page.locator(".limit dt").first.evaluate("""(name) => {
      const aside = name.querySelector(".aside");
      name.style.inlineSize = "150px";
      aside.innerHTML = "cap\u00a020<span>, cut to 16 by a 429</span>, <time>14 s ago</time>";
      const number = document.createRange();
      number.selectNodeContents(aside.firstChild);
      return [number.getBoundingClientRect().right, name.getBoundingClientRect().right];
    }""")
    assert edges[0] <= edges[1] + 0.5


@pytest.mark.parametrize("slots", [[20, 4], [40, 12]], ids=["20", "40"])
def test_slots_stand_beside_each_other_on_a_phone(
    sit: Callable[..., Person], slots: list[int]
) -> None:
    page = sit("Operator", viewport=PHONE).page
    page.goto("/limits/")
    assert page.evaluate(BESIDE, slots)
