"""Who asked the system for less motion sees none."""

from collections.abc import Callable

import pytest

from tests.acceptance.installation import Installation
from tests.browser.person import Person

MOVES = """() => [...document.querySelectorAll("*")].filter((one) => {
  const { animationName, transitionDuration } = getComputedStyle(one);
  return animationName !== "none" || /[1-9]/.test(transitionDuration);
}).map((one) => one.className)"""


@pytest.fixture(scope="module")
def batch(place: Installation) -> str:
    made = place.submit(place.items(4, "motion"), place.task_type(contract=True))
    place.wait(made)
    return made


@pytest.mark.parametrize(("wish", "moves"), [("reduce", False), ("no-preference", True)])
def test_motion_follows_the_wish(
    batch: str, sit: Callable[..., Person], wish: str, moves: bool
) -> None:
    page = sit("Operator", reduced_motion=wish).page
    page.goto("/")
    on_board = page.evaluate(MOVES)
    page.goto(f"/batches/{batch}/")
    page.get_by_role("link", name="motion-0").click()
    page.wait_for_selector("#drawer[open] h2")
    assert [bool(on_board), bool(page.evaluate(MOVES))] == [moves, moves]
