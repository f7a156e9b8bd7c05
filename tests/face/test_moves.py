"""What a person does with a batch: one verb for each address, clear words where it is refused."""

import pytest
from django.test import Client
from django.urls import reverse

from batchboard.models import User
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("before", "name", "after"),
    [
        ("draft", "batch-run", "queued"),
        ("queued", "batch-pause", "paused"),
        ("running", "batch-pause", "paused"),
        ("paused", "batch-resumption", "queued"),
        ("draft", "batch-cancellation", "cancelled"),
        ("running", "batch-cancellation", "cancelled"),
    ],
)
def test_a_legal_move_is_made_by_whoever_asked(
    page: Client, make_batch: MakeBatch, person: User, before: str, name: str, after: str
) -> None:
    batch = make_batch(before, waiting=3)
    answer = page.post(reverse(name, args=[batch.public_id]))
    assert answer["Location"] == reverse("batch", args=[batch.public_id])
    batch.refresh_from_db()
    assert batch.state == after
    assert batch.events.order_by("-id")[0].actor == person


@pytest.mark.parametrize(
    ("state", "name", "says"),
    [
        ("running", "batch-run", "is running: start is possible only from draft"),
        ("released", "batch-pause", "is released: pause is possible only from"),
        ("cancelled", "batch-cancellation", "is cancelled: cancel is possible only from"),
        ("running", "batch-second-try", "has no dead items to send again"),
    ],
)
def test_a_refusal_is_said_in_the_page(
    page: Client, make_batch: MakeBatch, state: str, name: str, says: str
) -> None:
    batch = make_batch(state, waiting=3)
    answer = page.post(reverse(name, args=[batch.public_id]), follow=True)
    text = answer.content.decode()
    assert says in text
    assert 'role="alert"' in text
    batch.refresh_from_db()
    assert batch.state == state


def test_dead_items_are_sent_again(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("running", dead=2, waiting=1)
    assert "Send 2 again" in page.get(f"/batches/{batch.public_id}/").content.decode()
    answer = page.post(reverse("batch-second-try", args=[batch.public_id]), follow=True)
    assert "2 items are sent again." in answer.content.decode()
    batch.refresh_from_db()
    assert batch.dead == 0


def test_resuming_clears_a_block(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("running", waiting=3, blocked="first_look")
    page.post(reverse("batch-resumption", args=[batch.public_id]))
    batch.refresh_from_db()
    assert (batch.blocked, batch.looked) == ("", True)


def test_a_card_leads_back_to_the_board(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("paused", waiting=3)
    answer = page.post(reverse("batch-resumption", args=[batch.public_id]) + "?board")
    assert answer["Location"] == reverse("board")


@pytest.mark.parametrize(
    ("state", "buttons"),
    [
        ("draft", {"run", "cancel"}),
        ("queued", {"pause", "cancel"}),
        ("running", {"pause", "cancel"}),
        ("paused", {"resumption", "cancel"}),
        ("review", {"cancel"}),
        ("released", set()),
        ("cancelled", set()),
    ],
)
def test_only_what_is_possible_is_offered(
    page: Client, make_batch: MakeBatch, state: str, buttons: set[str]
) -> None:
    batch = make_batch(state, waiting=3)
    text = page.get(f"/batches/{batch.public_id}/live").content.decode()
    offered = {
        name for name in ("run", "pause", "resumption", "second-try")
        if f'formaction="/batches/{batch.public_id}/{name}"' in text
    } | ({"cancel"} if 'data-opens="cancel"' in text else set())  # fmt: skip
    assert offered == buttons


@pytest.mark.parametrize("name", ["run", "pause", "resumption", "cancellation", "second-try"])
def test_reading_an_address_moves_nothing(page: Client, make_batch: MakeBatch, name: str) -> None:
    batch = make_batch("draft", waiting=3)
    assert page.get(f"/batches/{batch.public_id}/{name}").status_code == 405


def test_a_post_from_elsewhere_is_refused(person: User, make_batch: MakeBatch) -> None:
    batch = make_batch("draft", waiting=3)
    client = Client(enforce_csrf_checks=True)
    client.force_login(person)
    assert client.post(reverse("batch-run", args=[batch.public_id])).status_code == 403
    batch.refresh_from_db()
    assert batch.state == "draft"
