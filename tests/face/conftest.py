"""The cast of the page tests: a person who signs in, and batches in the states that pages show."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from batchboard.models import (
    Attempt,
    Batch,
    Limits,
    NewItem,
    RunOptions,
    TaskType,
    TaskVersion,
    User,
    Worker,
)
from batchboard.roles import Role
from batchboard.states import BatchState, ItemState

PASSWORD = "a long enough pass phrase"

MakeBatch = Callable[..., Batch]


@pytest.fixture(autouse=True)
def plain_static_files(settings: Any) -> None:
    """Static files under their own names: no collection of them is needed."""
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    }


@pytest.fixture(autouse=True)
def quick_passwords(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def person(db: None) -> User:
    """An operator and reviewer."""
    user = User.objects.create_user("mara", password=PASSWORD, first_name="Mara", last_name="Voss")
    user.groups.set(Group.objects.filter(name__in=[Role.OPERATOR, Role.REVIEWER]))
    Limits.objects.current()  # the row that every page's bar makes on first use
    return user


@pytest.fixture
def viewer(db: None) -> User:
    """Somebody who may look, and no more."""
    user = User.objects.create_user("viewer", password=PASSWORD)
    user.groups.set(Group.objects.filter(name=Role.VIEWER))
    return user


@pytest.fixture
def admin(db: None) -> User:
    user = User.objects.create_user("boss", password=PASSWORD)
    user.groups.set(Group.objects.filter(name=Role.ADMIN))
    Limits.objects.current()
    return user


@pytest.fixture
def page(client: Client, person: User) -> Client:
    """A client that is signed in."""
    client.force_login(person)
    return client


@pytest.fixture
def worker(db: None) -> Worker:
    now = timezone.now()
    return Worker.objects.create(
        node="calls@here", host="here", pid=1, consumed_at=now,
        lease_until=now + timezone.timedelta(hours=1),
    )  # fmt: skip


@pytest.fixture
def version(db: None) -> TaskVersion:
    task_type = TaskType.objects.create(name="Ticket triage")
    return TaskVersion.objects.create(
        task_type=task_type, number=1, digest="d", model="claude-haiku-4-5-20251001",
        prompt="{{ x }}", max_tokens=100,
    )  # fmt: skip


@pytest.fixture
def make_batch(version: TaskVersion, person: User, worker: Worker) -> MakeBatch:
    """A batch in a state, with so many items in each of theirs."""

    def make(
        state: str = BatchState.DRAFT,
        *,
        waiting: int = 0,
        running: int = 0,
        succeeded: int = 0,
        dead: int = 0,
        cancelled: int = 0,
        keys: list[str] | None = None,
        name: str = "[Batch] Ticket triage: Jun 19",
        **columns: Any,
    ) -> Batch:
        states = (
            [ItemState.SUCCEEDED] * succeeded + [ItemState.DEAD] * dead
            + [ItemState.RUNNING] * running + [ItemState.CANCELLED] * cancelled
            + [ItemState.WAITING] * waiting
        )  # fmt: skip
        keys = keys or [f"item-{n:03}" for n in range(len(states))]
        states += [ItemState.WAITING] * (len(keys) - len(states))
        batch = Batch.objects.create_with_items(
            name=name, version=version, by=person, options=RunOptions(),
            items=(NewItem(key, {"x": key}, 10) for key in keys),
        )  # fmt: skip
        for item, item_state in zip(batch.items.order_by("position"), states, strict=True):
            if item_state != ItemState.WAITING:
                _advance(batch, item, item_state, worker)
        Batch.objects.filter(pk=batch.pk).update(
            state=state, succeeded=succeeded, dead=dead, cancelled=cancelled,
            cursor=len(states) - states.count(ItemState.WAITING), **columns,
        )  # fmt: skip
        batch.refresh_from_db()
        return batch

    return make


def _advance(batch: Batch, item: Any, state: ItemState, worker: Worker) -> None:
    now = timezone.now()
    outcome = {ItemState.SUCCEEDED: "ok", ItemState.DEAD: "contract"}.get(state, "")
    type(item).objects.filter(pk=item.pk).update(
        state=state,
        tries=1,
        outcome=outcome,
        problem="no priority" if outcome == "contract" else "",
    )
    if state != ItemState.CANCELLED:
        Attempt.objects.create(
            item=item, batch=batch, worker=worker, model=batch.version.model, mode="cached",
            call=item.pk, max_tokens=100, reserved=0, granted_at=now, started_at=now,
            ended_at=now if outcome else None, outcome=outcome,
        )  # fmt: skip
