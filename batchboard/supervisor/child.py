"""One child process: started, watched, started again, ended."""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

log = logging.getLogger(__name__)

BACKOFF_SECONDS = (0.0, 0.25, 0.5, 1.0, 2.0)
STABLE_SECONDS = 20.0
"""A child that lived so long starts again at once when it dies; one that keeps dying waits."""

LOG_BYTES = 20_000_000
PR_SET_PDEATHSIG = 1


class Process(Protocol):
    """What a child needs of `subprocess.Popen`, or of what stands for it."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, number: int, /) -> None: ...
    def kill(self) -> None: ...


Launch = Callable[[IO[bytes]], Process]
"""Begins the process, whose output goes to that file."""


class Child:
    """A process by name. `poll` starts it again where it died and its time has come."""

    def __init__(
        self, name: str, launch: Launch, logs: Path, *, is_ready: Callable[[], bool] = lambda: True
    ) -> None:
        self.name = name
        self.is_ready = is_ready
        self._launch = launch
        self._log = logs / f"{name}.log"
        self._process: Process | None = None
        self._started = 0.0
        self._deaths = 0
        self._start_at = 0.0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def age(self) -> float:
        """Seconds since it was last started."""
        return time.monotonic() - self._started

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        if self._log.exists() and self._log.stat().st_size > LOG_BYTES:
            self._log.replace(self._log.with_suffix(".old.log"))
        with self._log.open("ab") as output:
            self._process = self._launch(output)
        self._started = time.monotonic()

    def poll(self) -> bool:
        """Start it again where it died; returns whether it was found dead just now."""
        if self.is_running:
            if self._deaths and self.age > STABLE_SECONDS:
                self._deaths = 0
            return False
        died = self._process is not None
        if died:
            assert self._process is not None
            wait = BACKOFF_SECONDS[min(self._deaths, len(BACKOFF_SECONDS) - 1)]
            log.warning("%s ended with status %s; starts again in %g s",
                        self.name, self._process.returncode, wait)  # fmt: skip
            self._deaths += 1
            self._start_at = time.monotonic() + wait
            self._process = None
        if time.monotonic() >= self._start_at:
            self.start()
        return died

    def restart(self, why: str) -> None:
        """End it, the hard way if it must be; `poll` starts it again."""
        log.warning("%s is ended: %s", self.name, why)
        self.terminate()
        self.wait(5.0)

    def terminate(self) -> None:
        if self.is_running:
            assert self._process is not None
            # A stopped process gets no signal but CONT and KILL.
            self._process.send_signal(signal.SIGTERM)
            self._process.send_signal(signal.SIGCONT)

    def wait(self, seconds: float) -> None:
        """Wait for its end; past `seconds` it is killed."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            log.warning("%s did not end in time: killed", self.name)
            self._process.kill()
            self._process.wait()


def program(command: Sequence[str], environment: Mapping[str, str]) -> Launch:
    """A child that is a program of its own."""

    def launch(output: IO[bytes]) -> Process:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
        )

    return launch


def die_with_parent() -> None:
    """Ask Linux to end this process when its parent dies, however that dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:
        os._exit(1)
