"""One installation and one Chromium for all tests here; a context for each person."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.person import Person
from tests.browser.place import Place
from tests.browsing import signed_in

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
REQUIRED = os.environ.get("BATCHBOARD_TEST_SERVERS") == "required"
ADD = """
from batchboard.models import User
from batchboard.roles import Role
User.objects.add_person({name!r}, [role for role in Role if role.label in {roles!r}])
"""
FIRST_PASSWORD = re.compile(r"one-time password (\S+)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.processes)
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Ends with this folder: while it runs, Django takes the thread for one of an event loop."""
    if CHROMIUM is None:
        (pytest.fail if REQUIRED else pytest.skip)("not installed: chromium")
    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def place(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("browser") / "installation"
    folder.mkdir()
    simulator = "--latency 0.2 --latency-sigma 0 --output-tokens 30"
    with Place(folder, simulator, BATCHBOARD_WORKERS="1") as installation:
        yield installation


@pytest.fixture(scope="package")
def home(place: Place) -> str:
    return f"http://localhost:{place.port}"


@pytest.fixture(scope="package")
def first_password(place: Place) -> str:
    """The administrator's, as the terminal shows it."""
    return FIRST_PASSWORD.search((place.folder / "up.log").read_text())[1]


@pytest.fixture(scope="package")
def admin(chromium: Browser, home: str, first_password: str) -> Iterator[Person]:
    with present(Person(chromium, home, "admin")) as person:
        person.sign_in(first_password)
        yield person


@pytest.fixture(scope="package")
def account(place: Place) -> Callable[..., dict[str, object]]:
    """`account("Operator")`: a session of somebody with that role, made without the pages that add
    and sign in, which another test goes through."""
    sessions: dict[str, dict[str, object]] = {}

    def session(role: str) -> dict[str, object]:
        if role not in sessions:
            name = f"{role.lower()}1"
            roles = [] if role == "Viewer" else [role]
            place.run("shell", "-c", ADD.format(name=name, roles=roles))
            where = {"domain": "localhost", "path": "/"}
            cookies = [{"name": n, "value": v, **where} for n, v in signed_in(place, name).items()]
            sessions[role] = {"cookies": cookies, "origins": []}
        return sessions[role]

    return session


@pytest.fixture
def sit(chromium: Browser, home: str, admin: Person, account: Callable) -> Iterator[Callable]:
    """`sit("Operator")`: a new browser in front of somebody with that role, for this test."""
    people: list[Person] = []

    def down(role: str, **context: object) -> Person:
        state = admin.context.storage_state() if role == "Administrator" else account(role)
        name = "admin" if role == "Administrator" else f"{role.lower()}1"
        person = Person(chromium, home, name, storage_state=state, **context)
        people.append(person)
        return person

    yield down
    problems = [problem for person in people for problem in person.watch.problems]
    for person in people:
        person.context.close()
    assert problems == []


@contextmanager
def present(person: Person) -> Iterator[Person]:
    yield person
    person.context.close()
    assert person.watch.problems == []
