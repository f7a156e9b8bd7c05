"""Requests and tokens per minute are kept, and used."""

import pytest

pytestmark = pytest.mark.timed

PER_SECOND = 10
RPM = 60 * PER_SECOND


@pytest.mark.full
@pytest.mark.parametrize("burst", [60, 1], ids=["a-minutes-bucket", "a-seconds-bucket"])
@pytest.mark.parametrize("kind", ["rpm", "itpm", "otpm"])
def test_a_limit_is_kept_and_used(install, size, kind, burst):
    count = size(150, 900)
    task_type = {"system": "Be brief.", "max_tokens": 400}
    limit = {"rpm": RPM, "itpm": RPM * 100, "otpm": RPM * 100}[kind]
    bb = install(
        f"--latency 1 --output-tokens 100 --{kind} {limit} --burst-seconds {burst}",
        DISPATCH_CONCURRENCY="50", **{f"DISPATCH_{kind.upper()}": str(limit)},
    )  # fmt: skip
    items = bb.items(count, text="word " * 60 if kind == "itpm" else "some text")

    batch = bb.submit(items, bb.task_type(**task_type), "--mode", "single")
    assert bb.wait(batch)["counts"]["succeeded"] == count

    calls = bb.calls()
    assert {call["status"] for call in calls} == {200}
    used = {
        "rpm": lambda call: 1,
        "itpm": lambda call: call["usage"]["input_tokens"],
        "otpm": lambda call: call["usage"]["output_tokens"],
    }[kind]
    seconds = max(c["started"] for c in calls) - min(c["started"] for c in calls)
    share = sum(map(used, calls)) / seconds / (limit / 60)
    print(f"{share:.3f} of {kind} used over {seconds:.1f} s")
    assert share >= size(90, 95) / 100


@pytest.mark.full
@pytest.mark.parametrize("headers", ["--limit-headers", "--no-limit-headers"])
@pytest.mark.parametrize("burst", [60, 1], ids=["a-minutes-bucket", "a-seconds-bucket"])
def test_a_limit_set_at_twice_the_real_one_costs_few_429s(install, size, headers, burst):
    count = size(300, 900)
    bb = install(
        f"--latency 1 --rpm {RPM} --burst-seconds {burst} {headers}",
        DISPATCH_CONCURRENCY="50", DISPATCH_RPM=str(2 * RPM),
    )  # fmt: skip

    batch = bb.submit(bb.items(count), bb.task_type(), "--mode", "single")
    assert bb.wait(batch)["counts"]["succeeded"] == count

    calls = bb.calls()
    limited = sum(call["status"] == 429 for call in calls)
    print(
        f"{limited} of {len(calls)} were 429, over {calls[-1]['ended'] - calls[0]['started']:.0f} s"
    )
    assert limited / len(calls) < size(4, 2) / 100


def test_a_limit_of_ten_a_second_meets_no_429(install):
    """The gate's short form of what is measured at length above."""
    bb = install(f"--latency 0.5 --rpm {RPM} --burst-seconds 1", DISPATCH_RPM=str(RPM))
    batch = bb.submit(bb.items(150), bb.task_type(), "--mode", "single")
    assert bb.wait(batch)["counts"]["succeeded"] == 150
    assert bb.statistics()["by_status"] == {"200": 150}
