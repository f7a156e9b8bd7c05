"""Forks of the stem are processes like others: watched, ended, and gone with the stem."""

import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from batchboard.supervisor.child import Child
from batchboard.supervisor.stem import Stem
from tests.servers import until

pytestmark = pytest.mark.skipif(
    os.uname().sysname != "Linux", reason="elsewhere each process is a program of its own"
)
BARE = "tests.engine.bare_stem"
SLEEPS = "tests.engine.sleeps"
LOAD = """
import os
from batchboard import stem
stem.load()
from django.db import connection
print(connection.connection, len(os.listdir("/proc/self/task")))
"""


@pytest.fixture
def stem(tmp_path):
    stem = Stem(BARE, os.environ, tmp_path)
    stem.start()
    yield stem
    stem.stop()


@pytest.fixture
def fork(stem, tmp_path):
    """fork(word, …) runs the module that sleeps, ends or writes as its words say."""
    made = []

    def run(*words):
        output = (tmp_path / f"{len(made)}.log").open("ab")
        with closing(output):
            made.append(stem.fork("calls1", [SLEEPS, *words], output))
        return made[-1]

    return run


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_fork_runs_a_module_and_tells_its_status(fork, stem, tmp_path):
    ended = fork("end", "7")
    assert ended.wait(30) == 7
    assert ended.poll() == 7
    assert (tmp_path / "0.log").read_text() == "['end', '7']\n"
    assert ended.pid != stem.pid


def test_a_fork_that_runs_has_no_status(fork):
    running = fork("sleep")
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(0.1)
    assert running.poll() is None


def test_signals_reach_a_fork_as_they_reach_a_program(fork):
    ended, killed = fork("sleep"), fork("sleep")
    ended.send_signal(signal.SIGTERM)
    killed.kill()
    assert ended.wait(30) == -signal.SIGTERM
    assert killed.wait(30) == -signal.SIGKILL


def test_a_fork_has_a_session_of_its_own(fork, stem):
    running = fork("sleep")
    until(lambda: os.getsid(running.pid) == running.pid, 30, "the session")


def test_a_signal_for_all_leaves_the_stem_to_the_supervisor(fork, stem):
    running = fork("sleep")
    os.kill(stem.pid, signal.SIGTERM)
    os.kill(stem.pid, signal.SIGINT)
    assert fork("end", "0").wait(30) == 0
    assert running.poll() is None


def test_a_killed_stem_takes_its_forks_along_and_the_next_fork_begins_another(fork, stem):
    running, first = fork("sleep"), stem.pid
    os.kill(first, signal.SIGKILL)
    assert running.wait(30) != 0
    until(lambda: not is_there(running.pid), 30, "the end of the fork")
    assert fork("end", "3").wait(30) == 3
    assert stem.pid != first


def test_a_stem_that_cannot_load_is_a_child_that_failed(tmp_path):
    stem = Stem("tests.engine.no_such_module", os.environ, tmp_path)
    child = Child("calls1", lambda output: stem.fork("calls1", [SLEEPS], output), tmp_path)
    child.start()
    assert not child.is_running
    assert "No module named" in (tmp_path / "stem.log").read_text()


def test_forks_end_with_the_stem(fork, stem):
    running = fork("sleep")
    stem.stop()
    assert running.poll() == -signal.SIGKILL
    until(lambda: not is_there(running.pid), 30, "the end of the fork")


def test_what_the_workers_share_has_no_connection_and_no_thread():
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("None 1\n", "")
