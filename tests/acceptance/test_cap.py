"""The cap holds at every instant, and is used."""

import pytest

from tests.acceptance.installation import in_flight

pytestmark = pytest.mark.timed


def test_three_batches_share_one_cap_and_fill_it(install, size):
    bb = install("--latency 1 --latency-sigma 0", DISPATCH_CONCURRENCY="50")
    task_type = bb.task_type()
    counts = [size(200, 700), size(200, 650), size(200, 650)]
    batches = [bb.submit(bb.items(n, f"b{n}-{k}"), task_type) for k, n in enumerate(counts)]

    for batch in batches:
        assert bb.wait(batch)["state"] == "review"

    calls = bb.calls()
    peak, mean, _ = in_flight(calls)
    print(f"peak {peak}, mean {mean:.2f} over {len(calls)} calls")
    assert peak == 50
    assert mean >= size(45, 47)
    assert len(calls) == len({call["item"] for call in calls}) == sum(counts)
