"""Processes that are forks of one which has imported everything: they begin at once, and share what
was loaded. The supervisor's side; `forking` has the other."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

MESSAGE_BYTES = 65_536
LOAD_SECONDS = 60.0
LOST = -signal.SIGKILL


class Fork:
    """One process, with as much of `subprocess.Popen` as who looks after it needs."""

    def __init__(self, stem: "Stem", pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._stem = stem

    def poll(self) -> int | None:
        self._stem.collect()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its status. Raises subprocess.TimeoutExpired."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired(f"fork {self.pid}", timeout or 0)
            self._stem.listen(left)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Stem:
    """Runs `module`, which loads and then serves forks; starts it again where it was killed."""

    def __init__(self, module: str, environment: Mapping[str, str], logs: Path) -> None:
        self._command = [sys.executable, "-m", module]
        self._environment = dict(environment)
        self._log = logs / "stem.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._forks: dict[int, Fork] = {}

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Begin to load; the first fork waits until that is done."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=theirs.fileno(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        ours.settimeout(LOAD_SECONDS)
        self._socket = ours

    def fork(self, name: str, words: Sequence[str], output: IO[bytes]) -> Fork:
        """Run `python -m` of these words in a fork. Where the stem fails, it has failed too."""
        if self._socket is None:
            self.start()
        assert self._socket is not None
        request = json.dumps({"name": name, "words": list(words)}).encode()
        fork = Fork(self, 0)
        try:
            socket.send_fds(self._socket, [request], [output.fileno()])
            while not fork.pid:
                fork.pid = self._read(self._socket.recv(MESSAGE_BYTES))
        except OSError:
            self.stop()
            fork.returncode = LOST
        else:
            self._forks[fork.pid] = fork
        return fork

    def collect(self) -> None:
        """Note which forks ended."""
        while self.listen(0):
            assert self._socket is not None
            try:
                self._read(self._socket.recv(MESSAGE_BYTES))
            except OSError:
                self.stop()

    def listen(self, seconds: float | None) -> bool:
        """Wait until there is something to collect; returns whether there is."""
        if self._socket is None:
            return False
        found, _, _ = select.select([self._socket], [], [], seconds)
        return bool(found)

    def stop(self) -> None:
        """End it, and whoever of its forks still runs: nobody would tell how they end."""
        if self._socket is not None:
            with suppress(OSError):
                while self.listen(0):
                    self._read(self._socket.recv(MESSAGE_BYTES))
            self._socket.close()
            self._socket = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        for fork in self._forks.values():
            with suppress(ProcessLookupError):
                os.kill(fork.pid, signal.SIGKILL)
            fork.returncode = LOST
        self._forks.clear()

    def _read(self, message: bytes) -> int:
        """The process id of a new fork, or 0 where the message said that one ended."""
        if not message:
            raise ConnectionError("the stem ended")
        told: dict[str, int] = json.loads(message)
        if "status" in told and (ended := self._forks.pop(told["pid"], None)):
            ended.returncode = told["status"]
        return 0 if "status" in told else told["pid"]
