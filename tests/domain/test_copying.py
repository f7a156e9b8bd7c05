"""Copies of the items of a batch, made in the background: visible on the way, whole or not at
all."""

import pytest

from batchboard import filing
from batchboard.leasing import Taken
from batchboard.models import Batch, Item, Preparation, PreparationKind, PreparationState
from batchboard.models.review import ReviewState
from batchboard.states import MoveRefused
from dispatch import forecast
from tests.factories import draft, in_review, judge_all, new_version, person, states

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quiet(announced, monkeypatch):
    monkeypatch.setattr(forecast, "count", lambda *_: forecast.Counted(40, 100, 30))


def clone(batch, by=None, **fields):
    wanted = {"name": "Once more", "version": "newest"} | fields
    return Preparation.objects.copy(
        PreparationKind.CLONE, batch, batch.total, by or person(), **wanted
    )


def rerun(batch, by=None, **fields):
    wanted = {"reason": "Off the point.", "rerun": "all", "version": ""} | fields
    return Preparation.objects.copy(
        PreparationKind.RERUN, batch, batch.total, by or person(), **wanted
    )


def test_a_clone_becomes_a_draft_with_an_estimate():
    batch = draft(5)
    preparation = clone(batch)
    assert list(Preparation.objects.shown_on_board()) == [preparation]
    filing.work_through()
    preparation.refresh_from_db()
    made = preparation.batch
    assert (preparation.state, preparation.stored) == (PreparationState.DONE, 5)
    assert (made.state, made.name, made.clone_of) == ("draft", "Once more", batch)
    assert made.owner == preparation.owner
    assert (states(made), made.estimate_expected > 0) == ({"waiting": 5}, True)
    assert not Preparation.objects.shown_on_board()


def test_a_clone_that_was_to_start_is_queued():
    preparation = clone(draft(3), start="1")
    filing.work_through()
    preparation.refresh_from_db()
    assert preparation.batch.state == "queued"


def test_a_clone_that_cannot_be_says_why_and_leaves_nothing():
    batch = draft(2)
    newer = new_version(batch.version)
    type(newer).objects.filter(pk=newer.pk).update(prompt="{{ text }} {{ price }}")
    preparation = clone(batch)
    filing.work_through()
    preparation.refresh_from_db()
    assert preparation.state == PreparationState.EDITING
    assert "names price, which k0 does not have" in preparation.error["message"]
    assert Batch.objects.count() == 1


def test_progress_is_told_while_items_are_copied(monkeypatch):
    monkeypatch.setattr("batchboard.leasing.TELL_SECONDS", 0)
    monkeypatch.setattr("batchboard.models.arriving.CHUNK", 2)
    told = []
    preparation = clone(draft(5))
    monkeypatch.setattr("batchboard.leasing.announce", lambda watchers: told.append(
        Preparation.objects.get(pk=preparation.pk).stored))  # fmt: skip
    filing.work_through()
    assert told == [0, 2, 4, 5]


def test_a_copy_whose_worker_died_is_begun_anew_and_there_is_one(monkeypatch):
    preparation = clone(draft(3))

    def killed(*_args, **_options):
        raise Taken

    with monkeypatch.context() as patched:
        patched.setattr(filing, "settle", killed)
        filing.work_through()
    assert Batch.objects.count() == 1, "what was stored of it is gone"
    Preparation.objects.update(lease_until=None)
    filing.work_through()
    preparation.refresh_from_db()
    assert Batch.objects.filter(clone_of=preparation.source).get() == preparation.batch
    assert Item.objects.count() == 6


def test_a_rejected_batch_stays_in_review_until_all_is_stored():
    batch = in_review(4)
    judge_all(batch, fails=1)
    preparation = rerun(batch)
    batch.refresh_from_db()
    assert batch.state == "review"
    filing.work_through()
    batch.refresh_from_db()
    preparation.refresh_from_db()
    assert (batch.state, batch.reviews.get().state) == ("rejected", ReviewState.REJECTED)
    assert (preparation.batch.state, preparation.batch.rerun_of) == ("queued", batch)
    assert states(preparation.batch) == {"waiting": 4}
    assert preparation.batch.estimate_expected > 0


def test_a_batch_that_was_approved_meanwhile_is_not_rejected_and_nothing_is_sent_again():
    batch = in_review(3)
    judge_all(batch)
    preparation = rerun(batch)
    batch.approve()
    filing.work_through()
    batch.refresh_from_db()
    preparation.refresh_from_db()
    assert (batch.state, Batch.objects.count()) == ("released", 1)
    assert (preparation.state, preparation.batch) == (PreparationState.EDITING, None)
    assert "released" in preparation.error["message"]


def test_a_batch_is_sent_again_once():
    batch = in_review(3)
    rerun(batch)
    with pytest.raises(MoveRefused, match="rejected and sent again already"):
        rerun(batch)
