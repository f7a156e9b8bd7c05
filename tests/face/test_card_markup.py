"""A card is made once, and anew as soon as anything that it shows has changed."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from batchboard.models import Batch, User
from batchboard.views import card_markup

MakeBatch = Callable[..., Batch]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    card_markup.forget()
    yield
    card_markup.forget()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The batches whose cards were made."""
    made, render = [], card_markup.render_to_string

    def noted(template: str, context: dict[str, Any]) -> str:
        made.append(context["card"].batch.pk)
        return render(template, context)

    monkeypatch.setattr(card_markup, "render_to_string", noted)
    return made


@pytest.fixture
def batch(make_batch: MakeBatch) -> Batch:
    owner, other = User.objects.create_user("owner"), User.objects.create_user("other")
    return make_batch("paused", waiting=3, dead=1, owner=owner, paused_by=other)


def called(username: str, first: str, last: str) -> None:
    User.objects.filter(username=username).update(first_name=first, last_name=last)


def test_a_card_that_stays_the_same_is_made_once(
    page: Client, batch: Batch, made: list[Any], time_machine: Any
) -> None:
    time_machine.move_to(timezone.now(), tick=False)
    first = page.get("/board/columns").content
    assert page.get("/board/columns").content == first
    assert made == [batch.pk]


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (lambda b: Batch.objects.update(name="Another name"), "Another name"),
        (lambda b: Batch.objects.update(dead=2), "2 dead"),
        (lambda b: Batch.objects.update(priority=1), "High"),
        (lambda b: Batch.objects.update(state="released"), "0 of 4 · "),
        (lambda b: b.items.filter(state="dead").update(state="succeeded"), '"succeeded"'),
        (lambda b: called("owner", "Ida", "Roth"), ">IR<"),
        (lambda b: called("other", "Jon", "Lund"), "Paused by Jon Lund"),
        (lambda b: type(b.version).objects.update(model="claude-opus-5"), "opus-5"),
        (lambda b: type(b.version.task_type).objects.update(name="Scans"), "Scans"),
    ],
)
def test_a_change_is_shown_at_once(
    page: Client, batch: Batch, change: Callable[[Batch], object], shown: str
) -> None:
    before = page.get("/board/columns").content.decode()
    change(batch)
    after = page.get("/board/columns").content.decode()
    assert shown not in before
    assert shown in after


def test_time_that_passes_is_shown(
    page: Client, make_batch: MakeBatch, person: User, time_machine: Any
) -> None:
    now = timezone.now()
    time_machine.move_to(now, tick=False)
    make_batch("running", waiting=3, blocked="budget", blocked_at=now - timedelta(minutes=4))
    assert "4 min" in page.get("/board/columns").content.decode()
    time_machine.move_to(now + timedelta(minutes=2), tick=False)
    assert "6 min" in page.get("/board/columns").content.decode()


def test_who_may_do_less_is_not_shown_the_card_of_who_may_do_more(
    page: Client, batch: Batch
) -> None:
    assert 'draggable="true"' in page.get("/board/columns").content.decode()
    viewer = Client()
    viewer.force_login(User.objects.create_user("viewer"))
    assert 'draggable="true"' not in viewer.get("/board/columns").content.decode()


def test_no_more_cards_are_kept_than_there_is_room_for(
    page: Client, make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card_markup, "MOST_KEPT", 2)
    for _ in range(5):
        make_batch("review")
    page.get("/board/columns")
    assert len(card_markup._kept) <= 2
