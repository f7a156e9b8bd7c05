"""make bench: what everything costs beside a bare loop, how much of a limit is used, how fast a
file comes in, and whether a long batch is slower than a short one.

    python -m tests.bench [embedded|postgres] [loop|limit|ingest|length …]
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from statistics import median

from tests.acceptance.installation import Installation
from tests.servers import Postgres, Redis

PAIRS = int(os.environ.get("PAIRS", "5"))
CAP = 100
LOOPS = ((1.0, 1_000), (0.2, 3_000), (0.0, 5_000))
TARGETS = {"embedded": (0.95, 0.85, 0.8), "postgres": (0.9, 0.75, 0.7)}


def main(arguments: list[str]) -> None:
    kinds = [name for name in ("embedded", "postgres") if name in arguments or not arguments]
    kinds = kinds or ["embedded", "postgres"]
    wanted = [name for name in arguments if name in MEASURES] or list(MEASURES)
    for kind in kinds:
        for name in wanted:
            MEASURES[name](kind)


def loop(kind: str) -> None:
    """Items per second as a share of the bare loop's, medians of pairs."""
    for (latency, count), target in zip(LOOPS, TARGETS[kind], strict=True):
        with installation(kind, f"--latency {latency} --latency-sigma 0", CAP) as bb:
            items, task_type = bb.items(count), bb.task_type()
            run(bb, bb.items(500, "warm-up"), task_type)
            pairs = []
            for _ in range(PAIRS):
                bare = count / bare_seconds(bb, count)
                ours = count / run(bb, items, task_type)
                pairs.append((ours / bare, ours, bare))
            ratio, ours, bare = (median(column) for column in zip(*pairs, strict=True))
            report(
                kind, f"latency {latency:g} s, cap {CAP}",
                f"{ours:.0f} of {bare:.0f} items a second: {ratio:.3f} (target {target})",
            )  # fmt: skip


def limit(kind: str) -> None:
    """How much of 10,000 requests a minute is used."""
    with installation(
        kind, "--latency 2 --latency-sigma 0 --rpm 10000", 400, DISPATCH_RPM="10000"
    ) as bb:
        run(bb, bb.items(6_000), bb.task_type())
        calls = sorted(bb.calls(), key=lambda call: call["started"])
        starts = [call["started"] for call in calls]
        share = (len(starts) - 1) / (starts[-1] - starts[0]) / (10_000 / 60)
        limited = sum(call["status"] == 429 for call in calls)
        report(kind, "10,000 a minute", f"{share:.3f} used, {limited} 429s (target 0.97)")


def ingest(kind: str) -> None:
    """Seconds and memory for 100,000 rows of CSV."""
    with installation(kind, "--latency 2", 1) as bb:
        peaks = []
        for count in (10_000, 100_000):
            items = bb.items(count, f"n{count}", "a line of text of about the usual length")
            started = time.perf_counter()
            bb.submit(items, bb.task_type())
            seconds = time.perf_counter() - started
            peaks.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
        report(
            kind, "ingest of 100,000 rows",
            f"{seconds:.1f} s (target 10), {peaks[1]} MB at the most, {peaks[0]} MB for 10,000",
        )  # fmt: skip


def length(kind: str) -> None:
    """Time per item in a batch of 100,000, beside one of 1,000."""
    with installation(kind, "--latency 0.05 --latency-sigma 0", 40) as bb:
        task_type = bb.task_type()
        run(bb, bb.items(500, "warm-up"), task_type)
        short = median(run(bb, bb.items(1_000, f"s{n}"), task_type) / 1_000 for n in range(5))
        long = run(bb, bb.items(100_000, "long"), task_type, 1_000) / 100_000
        report(
            kind, "time per item",
            f"{short * 1000:.2f} ms of 1,000, {long * 1000:.2f} ms of 100,000:"
            f" {long / short:.2f} (target 1.1)",
        )  # fmt: skip


MEASURES = {"loop": loop, "limit": limit, "ingest": ingest, "length": length}


@contextmanager
def installation(kind: str, simulator: str, cap: int, **environment: str):
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        base = Path(folder)
        servers = []
        if kind == "postgres":
            postgres, redis = Postgres(base / "postgres"), Redis(base / "redis")
            servers = [postgres, redis]
            postgres.start()
            redis.start()
            environment |= {"DATABASE_URL": postgres.url, "REDIS_URL": redis.url}
        try:
            environment["DISPATCH_CONCURRENCY"] = str(cap)
            with Installation(base / "installation", simulator, **environment) as bb:
                yield bb
        finally:
            for server in servers:
                server.stop()


def run(bb: Installation, items: Path, task_type: Path, seconds: int = 300) -> float:
    """Seconds from a batch's first admission to its review, with all items succeeded."""
    found = bb.batch(
        "run", items, "--task-type", task_type, "--mode", "single", "--wait", "--deadline", seconds
    )
    assert found["counts"]["succeeded"] == found["items"]
    started, finished = (datetime.fromisoformat(found[f"{x}_at"]) for x in ("started", "finished"))
    return (finished - started).total_seconds()


def bare_seconds(bb: Installation, count: int) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.bare", bb.provider, str(count), str(CAP)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout)


def report(kind: str, what: str, says: str) -> None:
    print(json.dumps({"servers": kind, "measure": what, "result": says}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
