"""A provider that fails now and then loses nothing and costs little time."""

import time

import pytest

pytestmark = pytest.mark.timed

CLEAN = "--latency 1 --latency-sigma 0.1 --seed 7 --rpm 100000 --output-tokens 40"
FAULTS = {
    "rate_429": 0.03, "fault_retry_after": 1.0, "rate_529": 0.03, "rate_malformed": 0.01,
    "rate_drop": 0.01,
}  # fmt: skip


def test_faults_lose_nothing_and_cost_little_time(install, size):
    count = size(400, 2000)
    bb = install(CLEAN, DISPATCH_CONCURRENCY="50")
    task_type = bb.task_type(contract=True)

    clean = timed(bb, bb.items(count, "clean"), task_type, count)
    bb.simulate(**FAULTS)
    bb.forget_calls()
    faulty = timed(bb, bb.items(count, "faulty"), task_type, count)

    calls = bb.calls()
    failed = sum(call["fault"] is not None for call in calls)
    print(f"clean {clean:.1f} s, with {failed} faults {faulty:.1f} s: {faulty / clean:.2f}")
    assert failed > count * 0.05
    assert faulty / clean <= size(1.6, 1.3)


def timed(bb, items, task_type, count) -> float:
    started = time.monotonic()
    batch = bb.submit(items, task_type, "--mode", "single")
    found = bb.wait(batch)
    seconds = time.monotonic() - started
    counts = found["counts"]
    assert counts["succeeded"] + counts["dead"] == count
    assert counts["waiting"] == counts["running"] == counts["cancelled"] == 0
    # An item dies only of faults that came to it again and again: two of a hundred thousand do.
    assert counts["dead"] <= 2, bb.run("batch", "show", batch)
    return seconds
