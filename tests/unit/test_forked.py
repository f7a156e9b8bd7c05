"""Processes that are forks of one that loaded everything: watched and ended like programs."""

import os
import signal
import subprocess
import sys

import pytest

from batchboard.supervisor.child import Child
from batchboard.supervisor.forked import IS_SAFE, module
from tests.servers import until

pytestmark = pytest.mark.skipif(not IS_SAFE, reason="here each process is a program of its own")
SLEEPS = "tests.engine.sleeps"
SUPERVISOR = f"""
import sys, time
from pathlib import Path
from batchboard.supervisor.child import Child
from batchboard.supervisor.forked import load, module
load({{"DJANGO_SETTINGS_MODULE": "batchboard.settings"}})
child = Child("calls1", module("calls1", ["{SLEEPS}"], {{}}), Path(sys.argv[1]))
child.start()
print(child.pid, flush=True)
time.sleep(600)
"""

INTERRUPTED = f"""
import os, signal, sys
from threading import Timer
from pathlib import Path
from batchboard.supervisor.child import Child
from batchboard.supervisor.forked import load, module
signal.signal(signal.SIGINT, lambda *_: None)
load({{"DJANGO_SETTINGS_MODULE": "batchboard.settings"}})
Timer(0.5, os.killpg, (0, signal.SIGINT)).start()
child = Child("calls1", module("calls1", ["{SLEEPS}", "end", "7"], {{}}), Path(sys.argv[1]))
child.start()
print(child._process.wait(30))
"""


LOADED = """
import os
from batchboard.supervisor import preloaded
from django.db import connection
print(connection.connection, len(os.listdir("/proc/self/task")))
"""


@pytest.fixture
def child(tmp_path):
    """child(word, …) runs the module that sleeps, or ends, as its words say."""
    made = []

    def start(*words):
        name = f"calls{len(made)}"
        made.append(Child(name, module(name, [SLEEPS, *words], {}), tmp_path))
        made[-1].start()
        return made[-1]

    yield start
    for one in made:
        one.terminate()
        one.wait(10)


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_fork_runs_a_module_writes_into_its_log_and_tells_its_status(child, tmp_path):
    ended = child("end", "7")
    process = ended._process
    assert process.wait(30) == 7
    assert process.poll() == 7
    assert (tmp_path / "calls0.log").read_text() == "['end', '7']\n"


def test_a_fork_that_runs_has_no_status_and_a_session_of_its_own(child):
    running = child()
    with pytest.raises(subprocess.TimeoutExpired):
        running._process.wait(0.1)
    until(lambda: os.getsid(running.pid) == running.pid, 30, "its session")
    assert running.is_running


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_fork_is_started_again(child, number):
    killed = child()
    first = killed.pid
    os.kill(first, number)
    assert killed._process.wait(30) == -number
    assert killed.poll()
    until(lambda: killed.poll() is False and killed.is_running, 30, "the next one")
    assert killed.pid != first


def test_forks_end_with_the_supervisor_however_that_ends(tmp_path):
    words = [sys.executable, "-c", SUPERVISOR, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as supervisor:
        pid = int(supervisor.stdout.readline())
        assert is_there(pid)
        supervisor.kill()
    until(lambda: not is_there(pid), 30, "the end of the fork")


def test_what_the_forks_share_has_no_connection_and_no_thread():
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "batchboard.settings"}
    words = [sys.executable, "-c", LOADED]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("None 1\n", "")


def test_ctrl_c_while_the_server_loads_reaches_the_supervisor_alone(tmp_path):
    """It used to end the server, and the supervisor, which waited for it, with a traceback."""
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)], capture_output=True, text=True,
        timeout=120, start_new_session=True,
    )  # fmt: skip
    assert (ended.stdout, ended.stderr) == ("7\n", "")
