"""The supervisor: prepares, starts, watches and ends the processes of one installation."""

import fcntl
import json
import logging
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection

from batchboard import runtime
from batchboard.models import Batch, User
from batchboard.roles import Role
from batchboard.supervisor import example
from batchboard.supervisor.consuming import Watch
from batchboard.supervisor.plan import Plan, make_plan

log = logging.getLogger(__name__)
READY_SECONDS = 60.0
END_SECONDS = 8.0


class AlreadyRunning(Exception):
    """Another supervisor runs on the same data folder."""


class Supervisor:
    """Runs until it is told to end; see `run`."""

    def __init__(self, data: Path, port: int) -> None:
        self._data = data
        self._port = port
        self._ending = False
        self._processes: dict[str, int | None] = {}
        self._lock = self._take_lock()

    def run(self) -> None:
        """Start everything, say where it is, and keep it running until SIGINT or SIGTERM."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._end)
        plan = make_plan(self._data, self._port)
        try:
            self._prepare()
            self._start(plan)
            if not self._ending:
                self._welcome(plan)
            self._watch(plan)
        finally:
            self._stop(plan)

    def _end(self, *_: object) -> None:
        self._ending = True

    def _take_lock(self) -> IO[str]:
        lock = (self._data / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            running = runtime.Running.load(self._data)
            where = f" at {running.url} (process {running.pid})" if running else ""
            raise AlreadyRunning(
                f"Batchboard already runs on {self._data}{where}. For a second one set"
                " BATCHBOARD_DATA_DIR and PORT."
            ) from None
        return lock

    def _prepare(self) -> None:
        print("Preparing the database …", flush=True)
        call_command("migrate", verbosity=0)
        call_command("collectstatic", verbosity=0, interactive=False)
        connection.close()

    def _start(self, plan: Plan) -> None:
        for child in plan.children:
            if self._ending:
                return
            child.start()
            if child.name in {"valkey", "simulator"}:
                self._await(plan, child.name)
        runtime.Running(os.getpid(), plan.url, plan.provider_url, plan.simulated).save(self._data)
        self._note_processes(plan)
        self._await(plan, "web")

    def _await(self, plan: Plan, name: str) -> None:
        child = next(child for child in plan.children if child.name == name)
        until = time.monotonic() + READY_SECONDS
        while not self._ending and not child.is_ready():
            child.poll()
            if time.monotonic() > until:
                log.error("%s does not answer; see %s", name, self._data / "logs")
                return
            time.sleep(0.1)

    def _welcome(self, plan: Plan) -> None:
        password = self._first_user()
        print(f"\nBatchboard is at {plan.url}", flush=True)
        if password:
            print(f"Sign in as admin with the one-time password {password}", flush=True)
        if plan.simulated:
            print("The provider is simulated: no real calls, no real money.", flush=True)
        if os.environ.get("BATCHBOARD_EXAMPLE", "1") != "0" and not Batch.objects.exists():
            settings.ANTHROPIC_BASE_URL = plan.provider_url
            batch = example.load()
            print(f"An example of {batch.total} items is running: {plan.url}", flush=True)
        print(f"Logs are in {self._data / 'logs'}. Ctrl-C ends it.\n", flush=True)

    @staticmethod
    def _first_user() -> str | None:
        if User.objects.exists():
            return None
        _, password = User.objects.add_person("admin", [Role.ADMIN])
        return password

    def _watch(self, plan: Plan) -> None:
        watch = Watch(plan.children)
        while not self._ending:
            for child in plan.children:
                if not self._ending:
                    child.poll()
            self._note_processes(plan)
            with suppress(DatabaseError):
                for child, why in watch.stuck():
                    child.restart(why)
            time.sleep(0.2)

    def _note_processes(self, plan: Plan) -> None:
        """Write down which process is which, for whoever looks after the installation."""
        processes = {child.name: child.pid for child in plan.children}
        if processes != self._processes:
            self._processes = processes
            draft = self._data / "processes.draft"
            draft.write_text(json.dumps(processes, indent=1))
            draft.replace(self._data / "processes.json")

    def _stop(self, plan: Plan) -> None:
        """End what makes work before what carries it: Valkey and the simulator go last."""
        print("Ending …", flush=True)
        until = time.monotonic() + END_SECONDS
        last = [child for child in plan.children if child.name in {"valkey", "simulator"}]
        first = [child for child in plan.children if child not in last]
        for group in (first, last):
            for child in group:
                child.terminate()
            for child in group:
                child.wait(until - time.monotonic())
        with suppress(FileNotFoundError):
            (self._data / "running.json").unlink()
        self._lock.close()
