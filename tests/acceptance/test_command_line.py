"""A batch from file to export by the command line alone, with the gate in between."""

import csv
import io
import json

import pytest

SHOWN = {
    "id", "name", "state", "blocked", "counts", "cost_usd", "reserved_usd", "estimate_usd",
    "tokens", "cap", "started_at", "finished_at",
}  # fmt: skip


@pytest.fixture
def bb(install):
    return install("--latency 0.2 --fail-containing poison=refusal", DISPATCH_CONCURRENCY="10")


def test_from_file_to_export(bb):
    items, task_type = bb.items(20), bb.task_type(contract=True)
    with items.open("a") as file:
        file.write("bad,poison\n")

    estimate = bb.batch("estimate", items, "--task-type", task_type)
    assert {"estimate_usd", "seconds", "binding_limit", "recommended_concurrency"} <= set(estimate)
    assert 0 < estimate["estimate_usd"]["expected"] < estimate["estimate_usd"]["worst"]
    assert bb.batch("list") == []

    ended = bb.batch("run", items, "--task-type", task_type, "--wait", "--name", "Mine", status=4)
    assert ended["state"] == "review"
    batch = ended["id"]
    shown = bb.batch("show", batch)
    assert set(shown) >= SHOWN
    assert shown["counts"] == {
        "waiting": 0, "running": 0, "succeeded": 20, "dead": 1, "cancelled": 0,
    }  # fmt: skip
    assert shown["cost_usd"] == pytest.approx(float(bb.statistics()["bill_usd"]), abs=1e-12)
    assert [row["id"] for row in bb.batch("list")] == [batch]

    bb.run("batch", "export", batch, status=3)
    bb.run("batch", "approve", batch, status=3)
    bb.simulate(fail_containing={})
    bb.batch("retry", batch, "--item", "bad")
    assert bb.wait(batch)["counts"]["succeeded"] == 21

    drawn = bb.batch("review", batch)
    assert len(drawn) >= 3
    assert set(drawn[0]) >= {"key", "input", "output", "verdict"}
    bb.run("batch", "judge", batch, drawn[0]["key"], "fail", status=3)
    bb.batch("judge", batch, drawn[0]["key"], "fail", "--note", "wrong label")
    for one in drawn[1:]:
        bb.batch("judge", batch, one["key"], "pass")
    bb.run("batch", "export", batch, status=3)
    bb.run("batch", "approve", batch, status=3)
    bb.batch("approve", batch, "--override", "one label of little weight")

    lines = bb.run("batch", "export", batch).splitlines()
    assert len(lines) == 21
    assert set(json.loads(lines[0])) >= {"key", "input", "output"}
    rows = list(csv.DictReader(io.StringIO(bb.run("batch", "export", batch, "--format", "csv"))))
    assert [row["key"] for row in rows] == [json.loads(line)["key"] for line in lines]
    bb.run("batch", "cancel", batch, status=3)


def test_pause_resume_cancel_and_a_first_look(bb):
    bb.simulate(latency=2.0)
    batch = bb.submit(bb.items(60), bb.task_type(), "--concurrency", "5", "--first-look")
    found = bb.wait(batch)
    assert found["blocked"] == "first_look"
    assert found["counts"]["succeeded"] == 5
    bb.batch("resume", batch)

    bb.batch("pause", batch)
    assert bb.batch("show", batch)["state"] == "paused"
    bb.batch("resume", batch)
    bb.batch("cancel", batch)
    found = bb.wait(batch, states=("cancelled",))
    bb.run("batch", "resume", batch, status=3)

    def ended():
        counts = bb.batch("show", batch)["counts"]
        return counts["waiting"] == counts["running"] == 0

    from tests.servers import until

    until(ended, 10, "the calls in flight to end")


@pytest.mark.full
def test_rejecting_sends_items_again_under_the_newest_version(bb):
    items = bb.items(12)
    batch = bb.submit(items, bb.task_type(system="Version one."))
    bb.wait(batch)
    for one in bb.batch("review", batch):
        bb.batch("judge", batch, one["key"], "fail", "--note", "no")
    bb.run("batch", "reject", batch, status=2)
    again = bb.batch("reject", batch, "--reason", "bad prompt", "--rerun", "all")["rerun"]
    assert bb.wait(again)["items"] == 12
    bb.run("batch", "export", batch, status=3)


@pytest.mark.full
def test_a_changed_cap_holds_without_a_restart(bb):
    bb.simulate(latency=1.0)
    batch = bb.submit(bb.items(60), bb.task_type(), "--mode", "single")
    bb.run("limits", "--concurrency", "30")
    bb.wait(batch)
    assert 25 <= bb.statistics()["peak_in_flight"] <= 30
