"""Processes as others on the same machine can tell whether they still run."""

import os
import socket
from functools import cache
from pathlib import Path


@cache
def machine() -> str:
    """The machine by its name, and the set of processes that share its numbers: two containers may
    have the same name, and each counts its processes for itself."""
    try:
        numbers = os.readlink("/proc/self/ns/pid")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()} {boot} {numbers}"


def is_alive(pid: int) -> bool:
    """Whether a process of this machine still runs; one that ended and that nobody asked after
    does not, though it has its number yet."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state not in {"Z", "X"}
