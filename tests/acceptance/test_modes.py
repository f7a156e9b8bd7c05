"""What every request mode guarantees, and what it costs, against a provider that accounts as the
real one does."""

import json
import re
from collections import Counter
from decimal import Decimal

import pytest

from tests.acceptance.installation import in_flight
from tests.acceptance.test_crashes import release
from tests.acceptance.test_money import attempts
from tests.servers import until

MODES = ["single", "cached", "session", "packed"]
CAP = 12
MILLION = Decimal(1_000_000)
# Claude Haiku 5.5, dollars per million tokens, for prompts of up to 100,000.
INPUT, OUTPUT, WRITE, READ = (Decimal(p) / MILLION for p in ("0.10", "0.50", "0.125", "0.01"))
CONTEXT_TOKENS = 6_000


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param("single", marks=pytest.mark.full),
        pytest.param("cached", marks=pytest.mark.full),
        pytest.param("session", marks=pytest.mark.full),
        "packed",
    ],
)
def test_whatever_happens_every_item_ends_once_and_is_paid(install, mode):
    bb = install(
        "--latency 0.5 --rate-529 0.05 --rate-429 0.02 --rate-malformed 0.03 --rate-drop 0.02"
        " --fault-retry-after 0.2 --seed 5",
        DISPATCH_CONCURRENCY=str(CAP),
    )
    batch = bb.submit(
        bb.items(150), bb.task_type(contract=True), "--mode", mode, "--group-size", "3"
    )
    until(lambda: ended(bb, batch) > 20, 60, "progress")
    bb.kill("calls1")
    found = bb.wait(batch, 120)

    counts = found["counts"]
    assert counts["succeeded"] + counts["dead"] == 150
    assert counts["succeeded"] > 135
    keys = Counter(release(bb, batch))
    assert len(keys) == counts["succeeded"]
    assert set(keys.values()) == {1}
    calls = bb.calls()
    assert in_flight(calls)[0] <= CAP
    bill, cost = Decimal(bb.statistics()["bill_usd"]), Decimal(str(found["cost_usd"]))
    assert cost <= bill <= cost + Decimal(str(found["unknown_cost_usd"]))
    known = attempts(bb, batch)
    assert sum(known.values()) == cost
    charged = {call["request_id"]: Decimal(call["cost_usd"]) for call in calls}
    assert all(charged[request] == paid for request, paid in known.items() if request)

    bb.simulate(latency=60, rate_529=0, rate_429=0, rate_malformed=0, rate_drop=0)
    batch = bb.submit(bb.items(30, "long"), bb.task_type(), "--mode", mode)
    until(lambda: bb.statistics()["in_flight"] > 0, 20, "calls")
    bb.batch("cancel", batch)
    until(lambda: bb.statistics()["in_flight"] == 0, 10, "the end of all calls")
    until(lambda: ended(bb, batch, "cancelled") == 30, 10, "the end of all items")

    batch = bb.submit(bb.items(4, "slow"), bb.task_type(), "--mode", mode, "--item-timeout", "1")
    assert bb.wait(batch)["counts"]["dead"] == 4
    outcomes = bb.read_all("SELECT DISTINCT outcome FROM batchboard_item WHERE state = 'dead'"
                           " AND key LIKE 'slow%%'")  # fmt: skip
    assert outcomes == [("timeout",)]

    bb.simulate(latency=0.1)
    batch = bb.submit(bb.items(200, "dear"), bb.task_type(), "--mode", mode, "--budget", "0.001")
    found = bb.wait(batch)
    assert found["blocked"] == "budget"
    assert found["cost_usd"] <= 0.001


def test_each_mode_costs_hardly_more_than_it_must(install, size):
    """200 items with a shared context of 6,000 tokens, at a cap of 100. The least that a mode can
    cost is worked out from the lengths of prompts and answers alone."""
    bb = install("--latency 0.3 --output-tokens 60", DISPATCH_CONCURRENCY="100")
    count = size(100, 200)
    for mode in MODES:
        bb.forget_calls()
        system = f"These rules hold for {mode}. " + "Weigh each word. " * 1_410
        options = ("--mode", mode, "--group-size", "5")
        batch = bb.submit(bb.items(count, mode), bb.task_type(system=system), *options)
        found = bb.wait(batch)
        assert found["counts"]["succeeded"] == count
        assert Decimal(str(found["cost_usd"])) == Decimal(bb.statistics()["bill_usd"])
        used = [call["usage"] for call in sorted(bb.calls(), key=lambda call: call["started"])]
        context = shared_tokens(bb, batch)
        assert CONTEXT_TOKENS * 0.95 < context < CONTEXT_TOKENS * 1.05
        least = LEAST[mode](used, context, bb, batch)
        print(f"{mode}: ${found['cost_usd']:.6f}, at the least ${least:.6f}")
        assert Decimal(str(found["cost_usd"])) <= least * Decimal("1.02")
        writers = [u for u in used if u["cache_creation_input_tokens"] >= context]
        assert len(writers) == (mode != "single")


def prompt(usage):
    return (
        usage["input_tokens"]
        + usage["cache_creation_input_tokens"]
        + usage["cache_read_input_tokens"]
    )


def answers(used):
    return OUTPUT * sum(usage["output_tokens"] for usage in used)


def least_alone(used, context, *_):
    """Every call pays for all that it sends."""
    return INPUT * sum(map(prompt, used)) + answers(used)


def least_shared(used, context, *_):
    """One call writes the shared context, all others read it; the rest is new each time. What is
    shared of a packed call is longer than the context: it asks for a list."""
    context = max(usage["cache_creation_input_tokens"] for usage in used) or context
    new = sum(prompt(usage) - context for usage in used)
    return WRITE * context + READ * context * (len(used) - 1) + INPUT * new + answers(used)


def least_in_turn(used, context, bb, batch):
    """One turn writes the shared context, all others read it. A turn reads what the one before it
    sent and writes what is new; the last of a conversation has nobody to write for."""
    turns = bb.read_all(
        "SELECT a.session_id, a.input_tokens + a.cache_write_5m_tokens + a.cache_read_tokens"
        " FROM batchboard_attempt a JOIN batchboard_batch b ON b.id = a.batch_id"
        " WHERE b.public_id = %s ORDER BY a.id", batch,
    )  # fmt: skip
    conversations = {}
    for session, tokens in turns:
        conversations.setdefault(session, []).append(tokens)
    total = (WRITE - READ) * context + answers(used)
    for sent in conversations.values():
        for turn, tokens in enumerate(sent):
            before = sent[turn - 1] if turn else context
            rate = INPUT if turn == len(sent) - 1 else WRITE
            total += READ * before + rate * (tokens - before)
    return total


LEAST = {
    "single": least_alone,
    "cached": least_shared,
    "packed": least_shared,
    "session": least_in_turn,
}


@pytest.mark.full
def test_a_context_below_the_minimum_is_not_marked_and_costs_no_more(install):
    bb = install("--latency 0.1", DISPATCH_CONCURRENCY="20")
    costs = {}
    for mode in ("single", "cached"):
        bb.forget_calls()
        batch = bb.submit(bb.items(40), bb.task_type(system="Short rules."), "--mode", mode)
        costs[mode] = bb.wait(batch)["cost_usd"]
        assert bb.statistics()["tokens"]["cache_write"] == 0
    assert costs["cached"] == costs["single"]


@pytest.mark.full
def test_packed_items_get_their_own_answer_or_a_reason(install):
    """From a provider that leaves out, doubles, shuffles and makes up entries."""
    bb = install(
        "--latency 0.1 --pack-missing 0.1 --pack-double 0.1 --pack-invent 0.2 --pack-shuffle 0.7",
        DISPATCH_CONCURRENCY="20",
    )
    task_type = bb.folder / "echo.toml"
    task_type.write_text(ECHO)
    echoes = {f"Item echo-{n}:": json.dumps({"echo": f"echo-{n}"}) for n in range(60)}
    bb.simulate(answer_containing=echoes)
    batch = bb.submit(bb.items(60, "echo"), task_type, "--mode", "packed", "--group-size", "6")
    counts = bb.wait(batch)["counts"]
    assert counts["succeeded"] + counts["dead"] == 60
    assert counts["succeeded"] > 50
    release(bb, batch)
    for line in bb.run("batch", "export", batch).splitlines():
        result = json.loads(line)
        assert result["output"] == {"echo": result["key"]}
    reasons = bb.read_all("SELECT problem FROM batchboard_item WHERE state = 'dead'")
    assert all(re.search("no entry|entries with its id", problem) for (problem,) in reasons)


ECHO = """
name = "Echo"
model = "claude-haiku-5-5"
max_tokens = 200
key = "name"
prompt = "Item {{ name }}: {{ text }}"
[contract]
type = "object"
additionalProperties = false
required = ["echo"]
[contract.properties.echo]
type = "string"
"""


def ended(bb, batch, state="succeeded"):
    (count,) = bb.read(f"SELECT {state} FROM batchboard_batch WHERE public_id = %s", batch)
    return count


def shared_tokens(bb, batch):
    (tokens,) = bb.read(
        "SELECT v.shared_tokens FROM batchboard_batch b"
        " JOIN batchboard_taskversion v ON v.id = b.version_id WHERE b.public_id = %s", batch,
    )  # fmt: skip
    return tokens
