"""Putting a card into a column: what it means is one answer for dragging, menu and keyboard."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from batchboard.models import Batch
from batchboard.roles import Right
from batchboard.states import BATCH_MOVES, BatchState
from batchboard.views.columns import BY_NAME, column_of
from batchboard.views.placement import BY_ITSELF, CALLED, OPENED, placement, placements
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db
ALL = frozenset(Right)
SCRIPT = {"HX-Request": "true"}


def address(batch: Batch) -> str:
    return reverse("batch-placement", args=[batch.public_id])


@pytest.mark.parametrize(
    ("state", "column", "verb", "opens"),
    [
        ("draft", "queued", "start", ""),
        ("review", "released", "", "review/"),
        ("draft", "ended", "", "/"),
        ("running", "ended", "", "/"),
        ("review", "ended", "", "review/"),
    ],
)
def test_a_possible_place_calls_a_verb_or_opens_the_page_that_decides(
    make_batch: MakeBatch, state: str, column: str, verb: str, opens: str
) -> None:
    means = placement(make_batch(state, waiting=3), BY_NAME[column], ALL)
    assert means.verb == verb
    assert means.opens.endswith(opens)
    assert means.possible


@pytest.mark.parametrize(
    ("state", "column", "says"),
    [
        ("draft", "running", "Put it into Queued"),
        ("draft", "released", "Approve it in review first."),
        ("queued", "running", "by itself with its first call"),
        ("running", "review", "by itself, when every item has ended"),
        ("running", "released", "Approve it in review first."),
        ("running", "draft", "cannot become a draft again"),
        ("review", "running", "Dead ones can be sent again"),
        ("released", "draft", "stays on record"),
        ("cancelled", "queued", "It was cancelled"),
    ],
)
def test_an_impossible_place_says_why(
    make_batch: MakeBatch, state: str, column: str, says: str
) -> None:
    started = None if state in {"draft", "queued"} else timezone.now()
    means = placement(make_batch(state, waiting=3, started_at=started), BY_NAME[column], ALL)
    assert not means.possible
    assert says in means.says


def test_every_move_of_the_table_means_something_on_the_board() -> None:
    known = {*CALLED, *OPENED, *BY_ITSELF}
    within_a_column = {"arrive", "pause", "resume", "requeue", "release"}
    assert set(BATCH_MOVES) == known | within_a_column


@pytest.mark.parametrize("state", list(BatchState))
def test_nothing_is_possible_that_the_table_does_not_allow(
    make_batch: MakeBatch, state: BatchState
) -> None:
    batch = make_batch(state, waiting=3)
    legal = {column_of(move.target, None) for move in BATCH_MOVES.values() if state in move.sources}
    for means in placements(batch, ALL):
        assert means.says
        if means.possible:
            assert means.column.name in legal


def test_without_the_right_it_says_who_may(make_batch: MakeBatch) -> None:
    draft, review = make_batch("draft", waiting=3), make_batch("review", succeeded=3)
    none: frozenset[Right] = frozenset()
    assert placement(draft, BY_NAME["queued"], none).says.startswith("Only an operator")
    assert placement(review, BY_NAME["released"], none).says.startswith("Only a reviewer")


def test_putting_a_draft_into_queued_starts_it(
    page: Client, make_batch: MakeBatch, person: Any
) -> None:
    batch = make_batch("draft", waiting=3)
    answer = page.post(address(batch), {"column": "queued"}, headers=SCRIPT)
    assert (answer.status_code, answer.content.decode()) == (200, f"{batch.name}: now in Queued")
    batch.refresh_from_db()
    assert (batch.state, batch.started_by) == ("queued", person)


def test_an_illegal_place_changes_nothing_and_says_why(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("running", waiting=3)
    answer = page.post(address(batch), {"column": "released"}, headers=SCRIPT)
    assert answer.status_code == 409
    assert answer.content.decode() == "Approve it in review first."
    batch.refresh_from_db()
    assert batch.state == "running"


def test_somebody_else_was_first(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("draft", waiting=3)
    batch.start()
    answer = page.post(address(batch), {"column": "queued"}, headers=SCRIPT)
    assert answer.status_code == 409
    assert answer.content.decode() == "It stands here."


def test_without_a_script_it_leads_on(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("review", succeeded=3)
    answer = page.post(address(batch), {"column": "released"})
    assert answer["Location"] == reverse("review", args=[batch.public_id])
    assert page.post(address(batch), {"column": "nowhere"}).status_code == 404


def test_the_menu_names_every_column_and_what_it_would_do(
    page: Client, make_batch: MakeBatch
) -> None:
    batch = make_batch("draft", waiting=3, name="<b>Pile")
    text = page.get(address(batch)).content.decode()
    assert text.count("data-column=") == 6
    assert "Starts 3 items" in text
    assert text.count('aria-disabled="true"') == 4
    assert "&lt;b&gt;Pile" in text


def test_a_script_hears_the_outcome_of_a_verb_in_one_sentence(
    page: Client, make_batch: MakeBatch
) -> None:
    batch = make_batch("running", waiting=3, started_at=timezone.now())
    pause = reverse("batch-pause", args=[batch.public_id])
    assert page.post(pause, headers=SCRIPT).content.decode() == f"{batch.name}: paused"
    refused = page.post(pause, headers=SCRIPT)
    assert refused.status_code == 409
    assert "pause is possible only from" in refused.content.decode()
