"""What changed is painted once for all who see the same, and only a move makes browsers ask."""

from typing import Any

import pytest

from batchboard.models import Batch
from batchboard.roles import Right
from batchboard.views.painting import Painter, View
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db

BOARD = View(rights=frozenset({Right.OPERATE}), board=True)


@pytest.fixture
def paint(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Paints in the test's own thread, whose database it is."""
    painter = Painter()
    monkeypatch.setattr("batchboard.views.painting.close_connections", lambda: None)
    return lambda changed, views: painter._paint(set(changed), set(views))


def test_a_batch_is_asked_for_until_its_place_is_known(paint: Any, make_batch: MakeBatch) -> None:
    batch = make_batch("running", succeeded=3, waiting=5)
    assert paint({batch.public_id}, {BOARD}).moved
    assert not paint({batch.public_id}, {BOARD}).moved


@pytest.mark.parametrize("change", [{"state": "paused"}, {"blocked": "budget"}])
def test_a_move_and_a_block_are_asked_for(
    paint: Any, make_batch: MakeBatch, change: dict[str, str]
) -> None:
    batch = make_batch("running", succeeded=3, waiting=5)
    paint({batch.public_id}, {BOARD})
    Batch.objects.update(**change)
    assert paint({batch.public_id}, {BOARD}).moved


def test_figures_are_sent_with_the_card_that_the_board_shows(
    paint: Any, make_batch: MakeBatch, client: Any, person: Any
) -> None:
    batch = make_batch("running", succeeded=3, waiting=5)
    Batch.objects.update(succeeded=4)
    client.force_login(person)
    card = paint({batch.public_id}, {BOARD}).patches[BOARD][f"card-{batch.public_id}"]
    assert "<b>4</b> of 8" in card
    assert card.strip() in client.get("/board/columns").content.decode()


def test_who_watches_a_batch_is_sent_its_figures_and_no_card(
    paint: Any, make_batch: MakeBatch
) -> None:
    batch, other = make_batch("running", succeeded=3, waiting=5), make_batch("running", waiting=1)
    view, elsewhere = View(batch=batch.public_id), View(batch=other.public_id)
    patches = paint({batch.public_id}, {view, elsewhere}).patches
    assert {"progress", "figures"} <= set(patches[view])
    assert f"card-{batch.public_id}" not in patches[view]
    assert not {"progress", "figures"} & set(patches[elsewhere])


def test_what_is_no_batch_on_the_board_is_asked_for(paint: Any) -> None:
    assert paint({"p_preparation"}, {BOARD}).moved


def test_queries_do_not_grow_with_views_or_batches(
    paint: Any, make_batch: MakeBatch, django_assert_max_num_queries: Any
) -> None:
    batches = {make_batch("running", succeeded=3, waiting=5).public_id for _ in range(12)}
    views = {View(batch=batch) for batch in batches} | {BOARD, View(board=True)}
    with django_assert_max_num_queries(16):
        paint(batches, views)
