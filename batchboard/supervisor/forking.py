"""The stem's side: makes forks of itself on request, and tells how they ended."""

import ctypes
import json
import os
import runpy
import select
import signal
import socket
import sys

from batchboard.supervisor.child import die_with_parent

MESSAGE_BYTES = 65_536
PR_SET_NAME = 15
FOR_ALL = (signal.SIGINT, signal.SIGTERM)


def serve(stdin: int = 0) -> list[str] | None:
    """Answer requests until the supervisor is gone. Returns in each fork, with the words that it
    is to run, and in the stem at its end, with None."""
    # It ends when the supervisor does, and by no signal that is meant for all: its forks, which
    # end with it, have work to finish. Blocked, a signal waits until a new fork is ready for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, FOR_ALL)
    bell, ring = socket.socketpair()
    ring.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ring.fileno())
    with socket.socket(fileno=os.dup(stdin)) as supervisor:
        while True:
            asked, _, _ = select.select([supervisor, bell], [], [])
            if bell in asked:
                bell.recv(MESSAGE_BYTES)
                _tell_ended(supervisor)
            if supervisor in asked:
                message, outputs, _, _ = socket.recv_fds(supervisor, MESSAGE_BYTES, 1)
                if not message:
                    return None
                request = json.loads(message)
                pid = os.fork()
                if pid == 0:
                    bell.close()
                    _begin(request["name"], outputs[0])
                    ring.close()
                    return list(request["words"])
                os.close(outputs[0])
                supervisor.send(json.dumps({"pid": pid}).encode())


def run(words: list[str]) -> None:
    """As `python -m` would."""
    sys.argv = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


def _tell_ended(supervisor: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        ended = {"pid": pid, "status": os.waitstatus_to_exitcode(status)}
        supervisor.send(json.dumps(ended).encode())


def _begin(name: str, output: int) -> None:
    """What a process of its own has: a session, a name, signals and streams."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    die_with_parent()
    ctypes.CDLL(None).prctl(PR_SET_NAME, f"batch:{name}".encode())
    nothing = os.open(os.devnull, os.O_RDONLY)
    for stream, opened in ((0, nothing), (1, output), (2, output)):
        os.dup2(opened, stream)
    os.close(nothing)
    os.close(output)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FOR_ALL)
