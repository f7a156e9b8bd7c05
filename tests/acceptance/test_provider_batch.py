"""Message batches: whatever is killed, the provider gets each submission once, each item ends once,
and the ledger equals the bill."""

import json
import os
import re
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from tests.acceptance.installation import ROOT
from tests.acceptance.test_crashes import alive, release
from tests.servers import until

UNITS = 10**10


@pytest.fixture
def simulator():
    """A provider that outlives the installation."""
    command = [sys.executable, "-m", "dispatch.simulator", "--latency", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        yield json.loads(process.stdout.readline())["url"]
        process.terminate()


@pytest.fixture
def bb(install, size, simulator):
    bb = install(ANTHROPIC_BASE_URL=simulator, ANTHROPIC_API_KEY="key", BATCHBOARD_WORKERS="1")
    bb.count = size(60, 3_000)
    return bb


def send(bb, name: str) -> str:
    return bb.submit(bb.items(bb.count, name), bb.task_type(), "--mode", "provider_batch")


def state_of(bb, batch: str) -> str:
    found = bb.read_all(
        "SELECT s.state FROM batchboard_submission s JOIN batchboard_batch b ON b.id = s.batch_id"
        " WHERE b.public_id = %s ORDER BY s.id DESC",
        batch,
    )
    return found[0][0] if found else ""


def succeeded(bb, batch: str) -> int:
    (number,) = bb.read("SELECT succeeded FROM batchboard_batch WHERE public_id = %s", batch)
    return number or 0


def created(bb) -> int:
    return bb.statistics()["message_batches"]


def ends_once(bb, batch: str) -> None:
    found = bb.wait(batch, 60)
    assert found["counts"]["succeeded"] == bb.count, found
    (attempts,) = bb.read(
        "SELECT COUNT(*) FROM batchboard_attempt a JOIN batchboard_batch b ON b.id = a.batch_id"
        " WHERE b.public_id = %s",
        batch,
    )
    assert attempts == bb.count
    assert len(set(release(bb, batch))) == bb.count


def ledger_equals_bill(bb) -> None:
    (paid, unknown) = bb.read("SELECT SUM(cost), SUM(unknown_cost) FROM batchboard_batch")
    assert Decimal(int(paid)) / UNITS == Decimal(bb.statistics()["bill_usd"])
    assert unknown == 0


def most_megabytes(pid: int) -> int:
    """The most memory that the process ever had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) // 1024


def test_a_files_worker_killed_while_it_sends(bb):
    """Whether the request arrived, only the provider can tell."""
    bb.simulate(batch_answer_seconds=20, batch_seconds=1)
    batch = send(bb, "items")
    until(lambda: created(bb) == 1, 30, "the creation")
    assert state_of(bb, batch) == "sending"
    bb.kill("files")
    bb.simulate(batch_answer_seconds=0)
    ends_once(bb, batch)
    assert created(bb) == 1
    ledger_equals_bill(bb)


@pytest.mark.full
def test_a_files_worker_killed_while_it_waits(bb):
    bb.simulate(batch_seconds=4)
    batch = send(bb, "items")
    until(lambda: state_of(bb, batch) == "working", 30, "the provider to have it")
    bb.kill("files")
    ends_once(bb, batch)
    assert created(bb) == 1
    ledger_equals_bill(bb)


@pytest.mark.full
def test_a_files_worker_killed_while_it_collects(bb):
    bb.simulate(batch_seconds=0, batch_line_seconds=4 / bb.count)
    batch = send(bb, "items")
    until(lambda: 0 < succeeded(bb, batch) < bb.count, 30, "some results")
    bb.kill("files")
    bb.simulate(batch_line_seconds=0)
    ends_once(bb, batch)
    assert created(bb) == 1
    assert bb.statistics()["calls_per_item_max"] == 1
    ledger_equals_bill(bb)


@pytest.mark.full
def test_everything_killed_in_the_middle(bb):
    bb.simulate(batch_seconds=6)
    first = send(bb, "first")
    until(lambda: state_of(bb, first) == "working", 30, "the provider to have it")
    names = ("calls1", "control", "files", "web")
    pids = [bb.pid(name) for name in names]
    os.kill(bb._process.pid, signal.SIGKILL)
    bb._process.wait()
    bb.output.close()
    until(lambda: not any(alive(pid) for pid in pids), 15, "the end of all children")
    (bb.folder / "up.log").write_text("")
    bb.__enter__()
    ends_once(bb, first)
    assert created(bb) == 1
    ledger_equals_bill(bb)


@pytest.mark.full
def test_a_batch_that_is_cancelled_keeps_and_pays_what_had_succeeded(bb):
    # Long, because what is cancelled has worked on a share of it, and the command takes its time.
    bb.simulate(batch_seconds=60)
    batch = send(bb, "items")
    until(lambda: state_of(bb, batch) == "working", 30, "the provider to have it")
    bb.batch("cancel", batch)
    until(lambda: state_of(bb, batch) == "ended", 30, "what had succeeded")
    counts = bb.batch("show", batch)["counts"]
    assert 0 < counts["succeeded"] < bb.count
    assert counts["succeeded"] + counts["cancelled"] == bb.count
    assert created(bb) == 1
    ledger_equals_bill(bb)


@pytest.mark.full
def test_a_large_pile_goes_in_several_and_is_streamed_through(bb):
    """Neither the requests nor the results are ever held in memory as a whole."""
    bb.count = 25_000
    bb.simulate(batch_seconds=1)
    batch = send(bb, "items")
    found = bb.wait(batch, 600)
    assert found["counts"]["succeeded"] == bb.count
    assert created(bb) == 3
    assert bb.statistics()["calls_per_item_max"] == 1
    assert most_megabytes(bb.pid("files")) < 260
    ledger_equals_bill(bb)


@pytest.mark.full
def test_what_expires_or_fails_goes_again_and_the_rest_counts(bb):
    bb.simulate(batch_seconds=1, rate_hang=0.05, rate_529=0.02, rate_500=0.01, rate_refusal=0.01)
    batch = send(bb, "items")
    counts = bb.wait(batch, 300)["counts"]
    assert counts["succeeded"] + counts["dead"] == bb.count
    assert counts["dead"] < bb.count * 0.05
    assert created(bb) < 12
    ledger_equals_bill(bb)
