"""One command runs the same items in several ways, and ends in what each of them costs."""

import json
import re

import pytest

ARMS = ("single", "cached", "session:S=4", "packed:k=4")
SHARED_CONTEXT = "Judge each ticket by the rules of the house, and say which one holds. " * 430


@pytest.fixture
def bb(install):
    return install("--latency 0.2", DISPATCH_CONCURRENCY="16")


def test_one_command_says_that_the_cache_is_cheaper(bb):
    task_type = bb.task_type(system=SHARED_CONTEXT, contract=True)
    arms = [part for arm in ARMS for part in ("--arm", arm)]
    shown = bb.run("experiment", "run", bb.items(40), "--task-type", task_type, *arms,
                   "--n", "24", "--budget", "5", "--seed", "gate", "--wait")  # fmt: skip
    assert "Cost per task fell by" in shown
    assert "cached: Cheaper" in shown

    public_id = re.search(r"e_\w+", shown)[0]
    found = json.loads(bb.run("experiment", "show", public_id, "--json"))
    assert found["state"] == "ended"
    assert [arm["label"] for arm in found["arms"]] == ["single", "cached", "session S=4",
                                                       "packed k=4"]  # fmt: skip
    assert [(arm["items"], arm["succeeded"]) for arm in found["arms"]] == [(24, 24)] * 4
    assert sum(arm["budget_usd"] for arm in found["arms"]) == pytest.approx(5, abs=1e-9)
    cached = found["comparison"]["arms"][0]
    assert (cached["label"], cached["verdict"]) == ("cached", "cheaper")
    assert cached["change"]["high"] < -0.5
    spent = sum(arm["cost_usd"] for arm in found["arms"])
    assert spent == pytest.approx(float(bb.statistics()["bill_usd"]), abs=1e-9)
    assert found["comparison"]["same_items"] == 24
