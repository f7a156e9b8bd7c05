"""A draft comes with all of its items, or not at all."""

from decimal import Decimal

import pytest

from batchboard.models import Batch, Event, Item, ItemInput, NewItem, RunOptions
from batchboard.models.batch import INGEST_CHUNK
from tests.factories import draft, new_items, task_version

pytestmark = pytest.mark.django_db


def create(items):
    return Batch.objects.create_with_items(
        name="Pile", version=task_version(), items=items, options=RunOptions()
    )


def test_items_keep_the_files_order_key_and_row():
    batch = create(iter(new_items(3)))
    assert batch.total == 3
    found = batch.items.values_list("position", "key", "state", "input__data")
    assert list(found) == [(n, f"k{n}", "waiting", {"text": f"row {n}"}) for n in range(3)]
    assert Event.objects.get(batch=batch).detail == {"items": 3}


def test_more_items_than_a_chunk_are_numbered_through():
    batch = create(new_items(INGEST_CHUNK + 3))
    assert batch.total == batch.items.count() == INGEST_CHUNK + 3
    assert batch.items.last().position == INGEST_CHUNK + 2


@pytest.mark.parametrize("good", [0, 3, INGEST_CHUNK + 1])
def test_a_row_that_cannot_be_read_leaves_nothing_behind(good):
    def rows():
        yield from new_items(good)
        raise ValueError("row 4 is not UTF-8")

    with pytest.raises(ValueError, match="row 4"):
        create(rows())
    for model in (Batch, Item, ItemInput, Event):
        assert not model.objects.exists()


def test_every_option_is_kept():
    batch = draft(
        1, schedule="waves", mode="cached", concurrency=7, first_look=True, budget="1.25",
        item_timeout=9, deadline=60, sample_size=4, priority=-2,
    )  # fmt: skip
    batch.refresh_from_db()
    assert (batch.schedule, batch.mode, batch.concurrency, batch.first_look) == (
        "waves", "cached", 7, True,
    )  # fmt: skip
    assert (batch.budget, batch.item_timeout, batch.deadline) == (Decimal("1.25"), 9, 60)
    assert (batch.sample_size, batch.priority, batch.state) == (4, -2, "draft")


def test_a_key_given_twice_leaves_nothing_behind():
    from django.db import IntegrityError, transaction

    twice = [NewItem("same", {}, 1), NewItem("same", {}, 1)]
    with pytest.raises(IntegrityError), transaction.atomic():
        create(twice)
    assert not Batch.objects.exists()
