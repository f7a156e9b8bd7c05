"""A first visit is light: what the browser has to fetch for a page, as it is sent."""

from collections.abc import Callable

import pytest

from tests.browser.person import Person
from tests.browser.place import Place

MOST = 150_000


@pytest.fixture(scope="module")
def batch(place: Place) -> str:
    made = place.submit(place.items(60, "weight"), place.task_type(contract=True))
    place.wait(made)
    return made


@pytest.mark.parametrize(
    "address",
    ["/", "/batches/{}/", "/batches/{}/review/", "/new/", "/limits/", "/costs/", "/task-types/1/"],
)
def test_a_first_visit_is_light(batch: str, sit: Callable[..., Person], address: str) -> None:
    person = sit("Operator")
    network = person.context.new_cdp_session(person.page)
    network.send("Network.enable")
    sizes: dict[str, int] = {}
    names: dict[str, str] = {}
    network.on(
        "Network.responseReceived", lambda e: names.update({e["requestId"]: e["response"]["url"]})
    )
    network.on(
        "Network.loadingFinished",
        lambda e: sizes.update({e["requestId"]: int(e["encodedDataLength"])}),
    )
    person.page.goto(address.format(batch), wait_until="load")
    person.page.locator("h1").first.wait_for(state="attached")
    assert len(sizes) > 3
    by_name = sorted(((size, names.get(one, one)) for one, size in sizes.items()), reverse=True)
    assert sum(sizes.values()) < MOST, by_name
