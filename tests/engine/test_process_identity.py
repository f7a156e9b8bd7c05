"""Whether a process of this machine still runs."""

import os
import subprocess
import time
from pathlib import Path

from dispatch.process_identity import is_alive, machine


def test_this_process_lives():
    assert is_alive(os.getpid())


def test_a_process_that_ended_and_was_not_asked_after_does_not():
    child = subprocess.Popen(["true"])
    while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    assert not is_alive(child.pid)
    child.wait()
    assert not is_alive(child.pid)


def test_machines_are_told_apart_by_more_than_their_name():
    assert os.readlink("/proc/self/ns/pid") in machine()
    assert len(machine()) <= 200
