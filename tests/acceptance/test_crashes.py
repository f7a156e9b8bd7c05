"""Whatever is killed, the run ends by itself, once for each item, under the cap."""

import json
import os
import signal
import time
from collections import Counter

import pytest

from tests.acceptance.installation import in_flight
from tests.servers import until

CAP = 40
LEASE_SECONDS = 15
SIMULATOR = "--latency 0.5 --latency-sigma 0.1"


@pytest.fixture
def run(install, size):
    bb = install(SIMULATOR, DISPATCH_CONCURRENCY=str(CAP))
    bb.count = size(400, 500)
    bb.id = bb.submit(bb.items(bb.count), bb.task_type(), "--mode", "single")

    def progress() -> bool:
        (succeeded,) = bb.read("SELECT succeeded FROM batchboard_batch WHERE public_id = %s", bb.id)
        return succeeded > bb.count / 6

    until(progress, 30, "progress")
    bb.killed_at = time.monotonic()
    return bb


def ends_well(bb, extra_calls: int = CAP) -> None:
    found = bb.wait(bb.id, 120)
    took = time.monotonic() - bb.killed_at
    clean = bb.count / CAP * 0.5
    print(f"ended {took:.1f} s after the fault; a clean run takes {clean:.1f} s")
    assert found["counts"]["succeeded"] == bb.count, found
    assert took < clean + LEASE_SECONDS + 10
    calls = bb.calls()
    peak, _, _ = in_flight(calls)
    assert peak <= CAP
    assert len({call["item"] for call in calls}) == bb.count
    assert len(calls) <= bb.count + extra_calls
    results = release(bb, bb.id)
    assert Counter(results) == Counter(f"items-{n}" for n in range(bb.count))


def release(bb, batch: str) -> list[str]:
    """Approve the batch; returns the keys of its results."""
    for drawn in json.loads(bb.run("batch", "review", "--json", batch)):
        bb.batch("judge", batch, drawn["key"], "pass")
    bb.batch("approve", batch)
    return [json.loads(line)["key"] for line in bb.run("batch", "export", batch).splitlines()]


def test_a_killed_call_worker(run):
    run.kill("calls1")
    ends_well(run)


@pytest.mark.full
def test_a_killed_control_worker(run):
    run.kill("control")
    ends_well(run, extra_calls=0)


def test_a_killed_broker_that_forgets_everything(run, request):
    kill_broker(run, request)
    ends_well(run, extra_calls=0)


@pytest.mark.full
def test_a_broker_killed_eight_times(run, request):
    for _ in range(8):
        kill_broker(run, request)
        time.sleep(0.7)
    run.killed_at = time.monotonic()
    ends_well(run)


@pytest.mark.full
def test_a_killed_stem_of_all_workers(run, request):
    if request.node.callspec.params["install"] == "postgres":
        pytest.skip("the same supervisor")
    # Both call workers die at once, each with all that the cap lets it hold.
    run.kill("stem")
    ends_well(run)


@pytest.mark.full
def test_a_killed_supervisor_leaves_nobody_and_the_next_goes_on(run, request):
    if request.node.callspec.params["install"] == "postgres":
        pytest.skip("the same supervisor")
    pids = [run.pid(name) for name in ("calls1", "calls2", "control", "valkey", "web")]
    os.kill(run._process.pid, signal.SIGKILL)
    run._process.wait()
    run.output.close()
    until(lambda: not any(alive(pid) for pid in pids), 15, "the end of all children")
    (run.folder / "up.log").write_text("")
    run.__enter__()
    found = run.wait(run.id, 120)
    assert found["counts"]["succeeded"] == run.count


@pytest.mark.servers
def test_a_killed_database_server(run, request):
    if request.node.callspec.params["install"] == "embedded":
        pytest.skip("an SQLite file has no server")
    postgres, _ = request.getfixturevalue("servers")
    postgres.kill()
    time.sleep(2)
    postgres.start()
    ends_well(run)


def test_a_stopped_worker_records_nothing_and_starts_nothing(run):
    pid = stop_between_decisions(run, "calls1")
    time.sleep(LEASE_SECONDS + 4)
    before = len(run.calls())
    in_line = run.batch("show", run.id)["counts"]["waiting"]
    os.kill(pid, signal.SIGCONT)
    log = run.data / "logs" / "calls1.log"
    until(lambda: "fenced" in log.read_text() or not alive(pid), 10, "the worker to notice")
    run.killed_at = time.monotonic()
    ends_well(run)
    assert before <= len(run.calls()) <= before + in_line + CAP


def stop_between_decisions(run, name: str) -> int:
    """Stop a process that holds no lock; one that did would keep everybody from deciding, its own
    rescue included, and nobody could take its lease away."""
    pid = run.pid(name)

    def stopped() -> bool:
        os.kill(pid, signal.SIGSTOP)
        if run.nobody_decides():
            return True
        os.kill(pid, signal.SIGCONT)
        return False

    until(stopped, 10, "a moment between decisions")
    return pid


def kill_broker(run, request) -> None:
    if request.node.callspec.params["install"] == "postgres":
        _, redis = request.getfixturevalue("servers")
        redis.kill()
        time.sleep(0.5)
        redis.start()
    else:
        pid = run.kill("valkey")
        until(lambda: run.pid("valkey") not in (pid, None), 10, "the next Valkey")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
