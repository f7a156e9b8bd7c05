"""Commands whose output is a file of items, as an administrator named them in the environment.

`BATCHBOARD_COMMANDS` is the path of a TOML or JSON file that maps a name to a list: a program and
its arguments. Nothing that a person types on a page is ever part of one, and no shell reads it.
"""

import json
import os
import selectors
import signal
import subprocess
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

LIMIT_SECONDS = 120
LIMIT_BYTES = 100_000_000
LOOK_SECONDS = 0.2
CHUNK_BYTES = 1 << 16
SAID_BYTES = 2_000
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""What a command sees of the environment: neither the provider's key nor the database's address."""


class CommandProblem(Exception):
    """A command gave no items; str() says why, `hint` what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def configured() -> Mapping[str, Sequence[str]]:
    """The commands by name. Raises CommandProblem where the file cannot be used."""
    path = settings.ITEM_COMMANDS
    if not path:
        return {}
    hint = 'It maps a name to a list: open-tickets = ["/opt/tickets", "--open"].'
    try:
        text = Path(path).read_text(encoding="utf-8")
        found = json.loads(text) if path.endswith(".json") else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise CommandProblem(f"The file of commands cannot be read: {error}.", hint) from error
    for name, argv in found.items() if isinstance(found, dict) else [("", None)]:
        parts = argv if isinstance(argv, list) else []
        if not parts or not all(isinstance(part, str) and part for part in parts):
            raise CommandProblem(f"The command “{name}” is not a list of texts.", hint)
    return found


def names() -> list[str]:
    """Their names, or none where the file cannot be used."""
    with suppress(CommandProblem):
        return sorted(configured())
    return []


def run(name: str, into: BinaryIO, tick: Callable[[], None]) -> None:
    """Write what a command puts out `into` a file; `tick` is called several times a second.

    Raises CommandProblem where there is no such command, or it fails, takes too long or puts out
    too much. Whatever it started ends with it.
    """
    argv = configured().get(name)
    if argv is None:
        raise CommandProblem(
            f"There is no command “{name}” any more.",
            "An administrator names commands in the file of BATCHBOARD_COMMANDS.",
        )
    environment = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
    try:
        process = subprocess.Popen(  # noqa: S603 - an administrator's own words, without a shell
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise CommandProblem(
            f"The command “{name}” could not begin: {error.strerror}.",
            "Look at its program in the file of BATCHBOARD_COMMANDS.",
        ) from error
    try:
        _watch(name, process, into, tick)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()


def _watch(
    name: str, process: "subprocess.Popen[bytes]", into: BinaryIO, tick: Callable[[], None]
) -> None:
    ends = time.monotonic() + LIMIT_SECONDS
    size, said = 0, b""
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map() or process.poll() is None:
            tick()
            if time.monotonic() > ends:
                raise CommandProblem(
                    f"The command “{name}” did not end within {LIMIT_SECONDS} s.",
                    "Make it quicker, or give a file instead.",
                )
            if not selector.get_map():
                time.sleep(LOOK_SECONDS / 10)
            for key, _ in selector.select(LOOK_SECONDS):
                chunk = os.read(key.fd, CHUNK_BYTES)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    said = (said + chunk)[-SAID_BYTES:]
                else:
                    size += len(chunk)
                    if size > LIMIT_BYTES:
                        raise CommandProblem(
                            f"The command “{name}” put out over {LIMIT_BYTES // 1_000_000} MB.",
                            "Have it put out fewer rows.",
                        )
                    into.write(chunk)
    if process.returncode:
        raise CommandProblem(
            f"The command “{name}” failed with exit status {process.returncode}{_last_line(said)}.",
            "Run it by hand to see why; the next time it is tried again.",
        )


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1].strip()[:300].rstrip('.')}" if lines else ""
