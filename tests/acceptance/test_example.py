"""What a newcomer sees first: the example runs by itself, to its end, with nothing failed."""

import pytest

from tests.servers import until


@pytest.fixture
def bb(install):
    return install("--latency 0.3", BATCHBOARD_EXAMPLE="1", DISPATCH_HEADROOM="0.8")


def test_the_example_starts_by_itself_and_all_of_it_succeeds(bb):
    (batch,) = until(lambda: bb.batch("list"), 20, "the example", every=0.5)
    found = bb.wait(batch["id"], 60)
    assert found["state"] == "review"
    assert found["counts"]["succeeded"] == found["items"] == 40
