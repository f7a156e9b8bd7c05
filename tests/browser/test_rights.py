"""What the roles mean at a browser: who may not act has nothing to press, and forging is refused."""

from collections.abc import Callable

import pytest

from tests.acceptance.installation import Installation
from tests.browser.person import Person


@pytest.fixture(scope="module")
def reviewed(place: Installation) -> str:
    """A batch of three that waits for its review; started at the command line, by nobody."""
    batch = place.submit(place.items(3, "rights"), place.task_type(contract=True))
    place.wait(batch)
    return batch


def test_a_viewer_finds_nothing_to_press(reviewed: str, sit: Callable[..., Person]) -> None:
    viewer = sit("Viewer")
    for address in ("", "review/"):
        viewer.page.goto(f"/batches/{reviewed}/{address}")
        working = viewer.page.locator('#main button:not([aria-disabled="true"]):visible')
        names = [button.inner_text() for button in working.all()]
        assert set(names) <= {"Comment", "Fields", "Raw R"}, address
    for address in ("/limits/", "/new/", "/task-types/"):
        viewer.page.goto(address)
        working = viewer.page.locator('#main button:not([aria-disabled="true"]):visible')
        assert working.count() == 0, address


FORGED = (
    "run", "pause", "cancellation", "second-try", "item-cancellation", "settings",
    "review/verdict", "review/retraction", "review/draw", "review/approval", "review/rejection",
)  # fmt: skip


def test_a_viewers_forged_requests_are_refused(
    place: Installation, reviewed: str, sit: Callable[..., Person]
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


def test_the_starter_cannot_approve_where_the_rule_says_so(
    place: Installation, sit: Callable[..., Person]
) -> None:
    starter, other = sit("Administrator"), sit("Reviewer")
    place.submit(place.items(3, "rule"), place.task_type(contract=True), "--name", "By the rule")
    (batch,) = [one["id"] for one in place.batch("list") if one["name"] == "By the rule"]
