"""Real servers for tests: PostgreSQL and Redis on loopback, in folders of their own."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

NOBODY_IS_ROOT = os.geteuid() != 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def find(program: str) -> str | None:
    """A server program on the path, or where Debian keeps PostgreSQL's."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), reverse=True)
    return str(versions[0]) if versions else shutil.which(program)


def until(condition, seconds=30.0, what="the condition", every=0.05):
    """Wait until `condition` returns something true, and return that."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not hold within {seconds:g} s")
        time.sleep(every)


class Postgres:
    """A cluster in `folder`, run by an unprivileged user, because initdb refuses root."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "pgdata"
        self.port = free_port()
        self.log = folder / "postgres.log"
        self._process: subprocess.Popen | None = None
        folder.mkdir(parents=True, exist_ok=True)
        if not NOBODY_IS_ROOT:
            for path in (folder, *folder.parents):
                if path == Path("/tmp"):
                    break
                path.chmod(path.stat().st_mode | 0o011)
            shutil.chown(folder, "postgres", "postgres")
        self._run("initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "--no-sync")

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [find("postgres"), "-D", self.data, "-p", str(self.port), "-k", "",
                 "-h", "127.0.0.1", "-c", "max_connections=100"],
                stdout=log, stderr=log, **self._as_user(),
            )  # fmt: skip
        until(self.answers, 30, "PostgreSQL")

    def answers(self) -> bool:
        return subprocess.run(
            [find("pg_isready"), "-h", "127.0.0.1", "-p", str(self.port)], capture_output=True
        ).returncode == 0  # fmt: skip

    def database(self, name: str) -> str:
        """Create a database of that name; returns its address."""
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", name)
        return self.url.removesuffix("postgres") + name

    def kill(self) -> None:
        """kill -9 the whole server; shared memory is cleaned up by the next start."""
        assert self._process is not None
        children = _children(self._process.pid)
        self._process.kill()
        self._process.wait()
        for pid in children:
            _kill(pid)
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children), 10, "the end")

    def stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(20)

    def _run(self, program: str, *arguments) -> None:
        done = subprocess.run(
            [find(program), *map(str, arguments)], capture_output=True, text=True, **self._as_user()
        )
        assert done.returncode == 0, done.stderr

    @staticmethod
    def _as_user() -> dict:
        if NOBODY_IS_ROOT:
            return {}
        entry = pwd.getpwnam("postgres")
        return {"user": entry.pw_uid, "group": entry.pw_gid, "cwd": "/tmp"}


class Redis:
    """A Redis without persistence: killed, it forgets everything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [find("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
             "--appendonly", "no", "--dir", self.folder],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip

        def answers() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        until(answers, 10, "Redis")

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(10)


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
