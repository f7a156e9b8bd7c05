"""A draft comes with all of its items, or not at all."""

from dataclasses import asdict
from datetime import timedelta
from decimal import Decimal
from unittest import mock

import pytest
from django.utils import timezone

from batchboard.models import Batch, Event, Item, ItemInput, NewItem, RunOptions
from batchboard.models.arriving import CHUNK
from batchboard.states import MoveRefused
from tests.factories import new_items, task_version

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
    batch = create(new_items(CHUNK + 3))
    assert batch.total == batch.items.count() == CHUNK + 3
    assert batch.items.last().position == CHUNK + 2


@pytest.mark.parametrize("good", [0, 3, CHUNK + 1])
def test_a_row_that_cannot_be_read_leaves_nothing_behind(good):
    def rows():
        yield from new_items(good)
        raise ValueError("row 4 is not UTF-8")

    with pytest.raises(ValueError, match="row 4"):
        create(rows())
    for model in (Batch, Item, ItemInput, Event):
        assert not model.objects.exists()


def test_every_option_is_kept_and_found_again():
    options = RunOptions(
        schedule="waves", mode="single", concurrency=7, first_look=True, budget=Decimal("1.25"),
        item_timeout=9, deadline=60, sample_size=4, allowed_bad=1, priority=-2, unpriced_ok=True,
        group_size=3, session_timeout=70, session_tokens=900,
    )  # fmt: skip
    for name, default in asdict(RunOptions()).items():
        assert getattr(options, name) != default, f"{name} is not tried"
    batch = Batch.objects.create_with_items(
        name="Pile", version=task_version(), items=new_items(1), options=options
    )
    assert RunOptions.of(Batch.objects.get(pk=batch.pk)) == options


def test_a_key_given_twice_leaves_nothing_behind():
    from django.db import IntegrityError, transaction

    twice = [NewItem("same", {}, 1), NewItem("same", {}, 1)]
    with pytest.raises(IntegrityError), transaction.atomic():
        create(twice)
    assert not Batch.objects.exists()


def test_progress_tells_how_many_items_are_stored():
    told = []
    batch = Batch.objects.create_with_items(
        name="Pile", version=task_version(), items=new_items(CHUNK + 3), options=RunOptions(),
        progress=told.append,
    )  # fmt: skip
    assert told == [CHUNK, CHUNK + 3]
    assert batch.state == "draft"


def left_by_a_killed_process(minutes):
    """A batch whose filling went no further than its first chunk, so many minutes ago."""

    def rows():
        yield from new_items(CHUNK)
        batch = Batch.objects.get()
        assert (batch.state, batch.total) == ("ingesting", CHUNK)
        raise SystemExit

    with mock.patch.object(Batch, "discard"), pytest.raises(SystemExit):
        create(rows())
    Batch.objects.update(filled_at=timezone.now() - timedelta(minutes=minutes))
    return Batch.objects.get()


@pytest.mark.parametrize(("minutes", "stays"), [(9, True), (11, False)])
def test_what_a_killed_process_left_is_cleared_away_after_a_while(minutes, stays):
    left_by_a_killed_process(minutes)
    Batch.objects.discard_abandoned(timezone.now())
    assert Batch.objects.exists() == Item.objects.exists() == ItemInput.objects.exists() == stays


def test_nothing_can_be_done_with_a_batch_whose_items_are_coming_in():
    batch = left_by_a_killed_process(0)
    for verb in (batch.start, batch.cancel, batch.pause, batch.retry):
        with pytest.raises(MoveRefused, match="is ingesting"):
            verb()
    assert batch not in Batch.objects.arrived()


def test_no_chunk_is_added_to_a_batch_that_was_cleared_away():
    batch = left_by_a_killed_process(11)
    Batch.objects.discard_abandoned(timezone.now())
    with pytest.raises(MoveRefused, match="was discarded"):
        batch.fill(iter(new_items(1)))
    assert not ItemInput.objects.exists()
