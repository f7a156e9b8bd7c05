"""A whole installation for tests: `manage.py up` in a folder of its own, driven as a person would,
by its command line, and watched from the provider's side."""

import fcntl
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import psycopg

from tests.servers import free_port, until

ROOT = Path(__file__).resolve().parent.parent.parent
TASK_TYPE = """
name = "{name}"
model = "claude-haiku-5-5"
max_tokens = {max_tokens}
key = "name"
system = "{system}"
prompt = "Item {{{{ name }}}}: {{{{ text }}}}"
{contract}
"""
CONTRACT = """
[contract]
type = "object"
additionalProperties = false
required = ["label"]
[contract.properties.label]
enum = ["a", "b"]
"""


class Installation:
    """Starts on entry, ends on exit. `environment` adds to a bare one."""

    def __init__(self, folder: Path, simulator: str = "", **environment: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir(parents=True)
        self.port = free_port()
        bare = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.environment = bare | {
            "BATCHBOARD_DATA_DIR": str(self.data),
            "BATCHBOARD_EXAMPLE": "0",
            "BATCHBOARD_SIMULATOR": simulator,
            "PORT": str(self.port),
            "DISPATCH_HEADROOM": "1",
            "DISPATCH_RPM": "1000000",
            "DISPATCH_ITPM": "1000000000",
            "DISPATCH_OTPM": "1000000000",
            **environment,
        }
        self._process: subprocess.Popen | None = None
        self._forks: subprocess.Popen | None = None

    def __enter__(self) -> "Installation":
        self.output = (self.folder / "up.log").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "up"], cwd=ROOT, env=self.environment,
            stdout=self.output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            until(lambda: "Ctrl-C ends it" in (self.folder / "up.log").read_text(), 90, "the start")
            until(lambda: self.sql_free_workers() >= self.workers, 60, "the workers")
        except BaseException:
            # Whoever cannot enter never leaves, and would stay behind.
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        if self._forks is not None:
            self._forks.communicate()
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(15)
        finally:
            self._process.kill()
            self._process.wait()
            self.output.close()

    @property
    def workers(self) -> int:
        return int(self.environment.get("BATCHBOARD_WORKERS", "2"))

    def sql_free_workers(self) -> int:
        """Workers that said in their logs that they are ready."""
        logs = self.data / "logs"
        return sum("ready." in log.read_text() for log in logs.glob("calls*.log"))

    # Its parts

    def pid(self, name: str) -> int:
        """The process id of a child, by its name in the supervisor."""
        return json.loads((self.data / "processes.json").read_text())[name]

    def kill(self, name: str, number: int = signal.SIGKILL) -> int:
        pid = self.pid(name)
        os.kill(pid, number)
        return pid

    # Its command line

    def run(self, *arguments: object, status: int | None = 0, stdin: bytes = b"") -> str:
        words = [str(one) for one in arguments]
        output = self._piped(words, stdin) if stdin else self._forked(words)
        if status is not None:
            assert self.status == status, (self.status, output, self.errors)
        return output

    def _piped(self, words: list[str], stdin: bytes) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *words], cwd=ROOT, env=self.environment,
            input=stdin, capture_output=True,
        )  # fmt: skip
        self.status, self.errors = done.returncode, done.stderr.decode()
        return done.stdout.decode()

    def _forked(self, words: list[str]) -> str:
        """Without standard input a command runs in a fork, see `forks`."""
        if self._forks is None:
            self._forks = subprocess.Popen(
                [sys.executable, "-m", "tests.acceptance.forks"], cwd=ROOT, env=self.environment,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        output, errors = self.folder / "command.out", self.folder / "command.err"
        self._forks.stdin.write(json.dumps([words, str(output), str(errors)]) + "\n")
        self._forks.stdin.flush()
        self.status = int(self._forks.stdout.readline())
        self.errors = errors.read_text()
        return output.read_text()

    def batch(self, *arguments: str, status: int | None = 0):
        """A batch command's JSON."""
        verb, *rest = arguments
        return json.loads(self.run("batch", verb, "--json", *rest, status=status).splitlines()[-1])

    def submit(self, items: Path, task_type: Path, *options: str) -> str:
        return self.batch("run", items, "--task-type", task_type, *options)["id"]

    def wait(self, batch: str, seconds: float = 300, states=("review",)) -> dict:
        """Wait until the batch is in one of `states` or blocked; returns its summary."""

        def over() -> bool:
            state, blocked = self.read(
                "SELECT state, blocked FROM batchboard_batch WHERE public_id = %s", batch
            )
            return state in states or bool(blocked)

        until(over, seconds, f"{batch} in {states}", every=0.2)
        return self.batch("show", batch)

    def nobody_decides(self) -> bool:
        """Whether, for half a second, no process was found in the middle of a transaction all the
        time: the others end theirs and go on, a stopped one does not."""
        return any(self._is_free() or time.sleep(0.05) for _ in range(10))

    def _is_free(self) -> bool:
        if "DATABASE_URL" in self.environment:
            (open_ones,) = self.read(
                "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%%'"
            )
            return open_ones == 0
        with (self.data / "turn").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        with closing(sqlite3.connect(self.data / "batchboard.sqlite3", timeout=0)) as database:
            try:
                database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
        return True

    def read(self, sql: str, *parameters: object) -> tuple:
        """One row from the database, past the command line: a process for every look would slow
        down what is looked at. None of it where the database is away."""
        address = self.environment.get("DATABASE_URL")
        try:
            if address:
                with psycopg.connect(address, connect_timeout=2) as connection:
                    return connection.execute(sql, parameters).fetchone()
            with closing(sqlite3.connect(self.data / "batchboard.sqlite3", timeout=20)) as file:
                return file.execute(sql.replace("%s", "?"), parameters).fetchone()
        except psycopg.OperationalError:
            return None, None

    def read_all(self, sql: str, *parameters: object) -> list[tuple]:
        """All rows, past the command line."""
        address = self.environment.get("DATABASE_URL")
        if address:
            with psycopg.connect(address) as connection:
                return connection.execute(sql, parameters).fetchall()
        with closing(sqlite3.connect(self.data / "batchboard.sqlite3", timeout=20)) as file:
            return file.execute(sql.replace("%s", "?"), parameters).fetchall()

    def items(self, count: int, name: str = "items", text: str = "some text") -> Path:
        path = self.folder / f"{name}.csv"
        lines = [f"{name}-{n},{text} {n}" for n in range(count)]
        path.write_text("\n".join(["name,text", *lines]) + "\n")
        return path

    def task_type(
        self, *, name: str = "Count", system: str = "Be brief.", max_tokens: int = 200,
        contract: bool = False,
    ) -> Path:  # fmt: skip
        path = self.folder / f"task-{name}-{len(system)}-{max_tokens}-{contract}.toml"
        path.write_text(
            TASK_TYPE.format(
                name=name,
                system=system,
                max_tokens=max_tokens,
                contract=CONTRACT if contract else "",
            )
        )
        return path

    # The provider's side

    @property
    def provider(self) -> str:
        return json.loads((self.data / "running.json").read_text())["provider_url"]

    def statistics(self) -> dict:
        return json.loads(self._get("/_simulator/statistics"))

    def calls(self) -> list[dict]:
        return [json.loads(line) for line in self._get("/_simulator/calls").splitlines()]

    def simulate(self, **options: object) -> None:
        request = urllib.request.Request(
            self.provider + "/_simulator/options", json.dumps(options).encode(), method="PATCH"
        )
        urllib.request.urlopen(request).read()

    def forget_calls(self) -> None:
        request = urllib.request.Request(self.provider + "/_simulator/reset", b"", method="POST")
        urllib.request.urlopen(request).read()

    def _get(self, path: str) -> str:
        with urllib.request.urlopen(self.provider + path) as response:
            return response.read().decode()


def in_flight(calls: list[dict]) -> tuple[int, float, float]:
    """Most calls in flight at once; the mean over the busy part, from the first call of which all
    later ones are refills to the start of the last call; and the busy part's seconds."""
    edges = sorted([(c["started"], 1) for c in calls] + [(c["ended"], -1) for c in calls])
    peak = now = 0
    for _, step in edges:
        now += step
        peak = max(peak, now)
    full_at, last_start, now = None, max(c["started"] for c in calls), 0
    area, before = 0.0, None
    for at, step in edges:
        if full_at is not None and at <= last_start:
            area += now * (at - before)
        now += step
        before = at
        if full_at is None and now >= peak * 0.95:
            full_at = at
    return peak, area / (last_start - full_at), last_start - full_at
