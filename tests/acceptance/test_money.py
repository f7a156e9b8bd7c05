"""The ledger is the provider's bill, and no ceiling is passed."""

import csv
import io
from collections import defaultdict
from decimal import Decimal

import pytest

from tests.acceptance.installation import Installation
from tests.servers import until


def test_the_ledger_equals_the_bill_item_by_item(install, size):
    bb = install(
        "--latency 0.1 --rate-529 0.03 --rate-malformed 0.03 --rate-truncated 0.03"
        " --rate-refusal 0.02 --rate-429 0.02 --seed 3",
        DISPATCH_CONCURRENCY="40",
    )
    task_type = bb.task_type(contract=True, system="Answer with one label. " * 700)
    for mode in ("single", "cached"):
        count = size(150, 500)
        batch = bb.submit(bb.items(count, mode), task_type, "--mode", mode)
        found = bb.wait(batch)
        billed = [call for call in bb.calls() if Decimal(call["cost_usd"])]
        ledger = attempts(bb, batch)

        assert {r: c for r, c in ledger.items() if c} == {
            call["request_id"]: Decimal(call["cost_usd"]) for call in billed
        }
        assert Decimal(str(found["cost_usd"])) == sum(ledger.values())
        assert Decimal(str(found["cost_usd"])) == Decimal(bb.statistics()["bill_usd"])
        assert found["unknown_cost_usd"] == 0
        bb.forget_calls()


def test_a_ceiling_blocks_and_a_raised_one_resumes(install, size):
    bb = install("--latency 0.2 --output-tokens 200", DISPATCH_CONCURRENCY="20")
    count = size(150, 600)
    items, task_type = bb.items(count), bb.task_type(max_tokens=300)
    estimate = bb.batch("estimate", items, "--task-type", task_type, "--mode", "single")
    ceiling = Decimal(str(estimate["estimate_usd"]["expected"])) / 3
    bb.run("limits", "--budget", str(ceiling))

    batch = bb.submit(items, task_type, "--mode", "single")
    found = bb.wait(batch)

    assert found["blocked"] == "ceiling"
    assert found["state"] == "running"
    bill = Decimal(bb.statistics()["bill_usd"])
    assert ceiling * Decimal("0.5") < bill <= ceiling
    bb.run("batch", "run", items, "--task-type", task_type, "--wait", status=5)

    bb.run("limits", "--budget", "1000")
    assert bb.wait(batch)["counts"]["succeeded"] == count


@pytest.mark.full
def test_two_batches_never_pass_the_last_dollar_together(install, size):
    bb = install("--latency 0.3 --output-tokens 200", DISPATCH_CONCURRENCY="60")
    task_type = bb.task_type(max_tokens=300)
    ceiling = Decimal("0.004")
    bb.run("limits", "--budget", str(ceiling))

    batches = [
        bb.submit(bb.items(300, name), task_type, "--mode", "single") for name in ("one", "two")
    ]
    for batch in batches:
        assert bb.wait(batch)["blocked"] == "ceiling"

    until(lambda: bb.statistics()["in_flight"] == 0)
    assert ceiling * Decimal("0.5") < Decimal(bb.statistics()["bill_usd"]) <= ceiling


@pytest.mark.full
def test_a_batch_has_a_budget_of_its_own(install):
    bb = install("--latency 0.2 --output-tokens 200", DISPATCH_CONCURRENCY="20")
    task_type = bb.task_type(max_tokens=300)
    batch = bb.submit(bb.items(200, "a"), task_type, "--mode", "single", "--budget", "0.003")
    other = bb.submit(bb.items(20, "b"), task_type, "--mode", "single")

    assert bb.wait(other)["state"] == "review"
    found = bb.wait(batch)
    assert found["blocked"] == "budget"
    assert found["cost_usd"] <= 0.003
    bb.batch("cancel", batch)
    assert bb.batch("show", batch)["state"] == "cancelled"


def attempts(bb: Installation, batch: str) -> dict[str, Decimal]:
    """Cost in the ledger by the provider's request id."""
    costs: dict[str, Decimal] = defaultdict(Decimal)
    for row in csv.DictReader(io.StringIO(bb.run("batch", "ledger", batch))):
        costs[row["request_id"]] += Decimal(row["cost_usd"] or 0)
    return dict(costs)
