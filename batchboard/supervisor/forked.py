"""Processes that begin as forks of one which has imported everything: at once, and sharing what was
loaded. To load it anew takes each of them two seconds of a processor and a hundred megabytes."""

import ctypes
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerProcess
from typing import IO

from batchboard.supervisor.child import Launch, die_with_parent, program

PR_SET_NAME = 15
IS_SAFE = sys.platform == "linux"
"""Elsewhere a fork that does not become another program at once may not use what was loaded."""


class Forked:
    """A process of the fork server, with as much of `subprocess.Popen` as a child needs."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process
        self.pid = process.pid or 0
        self.returncode: int | None = None

    def poll(self) -> int | None:
        self.returncode = self._process.exitcode
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0.0)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def load(environment: Mapping[str, str]) -> None:
    """Begin to load, with these variables; the first fork waits until that is done."""
    if IS_SAFE:
        # It is this process's own environment that the server has, whenever it is started again.
        os.environ.update(environment)
        forkserver.set_forkserver_preload([f"{__package__}.preloaded"])
        with _no_interrupts():
            forkserver.ensure_running()


def module(name: str, words: Sequence[str], environment: Mapping[str, str]) -> Launch:
    """A child that runs `python -m` of these words."""
    if not IS_SAFE:
        return program([sys.executable, "-m", *words], environment)

    def launch(output: IO[bytes]) -> Forked:
        process = ForkServerProcess(target=_run, args=(name, words, output.name), name=name)
        with _no_interrupts():
            process.start()
        return Forked(process)

    return launch


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """A server that is started here has SIGINT held back for good: Ctrl-C reaches all who share the
    terminal, and while it loads the server would end of it, with the supervisor waiting for it."""
    resource_tracker.ensure_running()  # which lets SIGINT through again where it has to begin
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(name: str, words: Sequence[str], log: str) -> None:
    """What a program of its own has: a session, a name, signals and streams."""
    os.setsid()
    die_with_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    ctypes.CDLL(None).prctl(PR_SET_NAME, f"batch:{name}".encode())
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    sys.argv = list(words)
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)
