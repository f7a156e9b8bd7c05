"""Installations on both kinds of servers, at the size of the gate or, with FULL=1, of a release."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.acceptance.installation import Installation
from tests.servers import Postgres, Redis, find

FULL = os.environ.get("FULL") == "1"
SERVERS_REQUIRED = os.environ.get("BATCHBOARD_TEST_SERVERS") == "required"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is marked full runs in `make accept` alone; in the gate PostgreSQL has its share only
    where the servers make a difference."""
    here = [item for item in items if Path(item.path).is_relative_to(Path(__file__).parent)]
    for item in here:
        item.add_marker(pytest.mark.processes)
    if FULL:
        return
    long = [item for item in here if is_long(item)]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


def is_long(item: pytest.Item) -> bool:
    if item.get_closest_marker("full"):
        return True
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return parameters.get("install") == "postgres" and not item.get_closest_marker("servers")


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Postgres, Redis]]:
    """PostgreSQL and Redis; without them the test is skipped, or fails where they are required."""
    missing = [name for name in ("initdb", "postgres", "redis-server") if not find(name)]
    if missing:
        message = f"not installed: {', '.join(missing)}"
        if SERVERS_REQUIRED:
            pytest.fail(message)
        pytest.skip(message)
    folder = tmp_path_factory.mktemp("servers")
    postgres, redis = Postgres(folder / "postgres"), Redis(folder / "redis")
    postgres.start()
    redis.start()
    yield postgres, redis
    redis.stop()
    postgres.stop()


@pytest.fixture(params=["embedded", "postgres"])
def install(request, tmp_path):
    """Starts installations, `install(simulator_options, NAME="value")`, and ends them."""
    with ExitStack() as stack:

        def start(simulator: str = "", **environment: str) -> Installation:
            if request.param == "postgres":
                postgres, redis = request.getfixturevalue("servers")
                if not redis.is_running:
                    redis.start()
                name = f"bb{abs(hash(tmp_path)) % 10**12}{len(list(tmp_path.iterdir()))}"
                environment |= {"DATABASE_URL": postgres.database(name), "REDIS_URL": redis.url}
            folder = tmp_path / f"installation{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            return stack.enter_context(Installation(folder, simulator, **environment))

        yield start


@pytest.fixture
def size() -> Callable[[int, int], int]:
    """The size of a run: `size(gate, full)`."""
    return lambda gate, full: full if FULL else gate
