"""Running a large batch again, and rejecting one: in the background, with a page that says how far
it is."""

import pytest
from django.urls import reverse

from batchboard import filing
from batchboard.models import Batch, Preparation
from batchboard.views import clones, review_sheets
from dispatch import forecast, intake_tasks
from tests.factories import in_review

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def _many(monkeypatch):
    """Two items are many; no provider and no broker."""
    monkeypatch.setattr(clones, "AT_ONCE", 1)
    monkeypatch.setattr(review_sheets, "AT_ONCE", 1)
    monkeypatch.setattr(forecast, "count", lambda *_: forecast.Counted())
    monkeypatch.setattr(intake_tasks, "nudge", lambda: None)


@pytest.fixture
def reviewed(person, announced):
    return in_review(4)


def begun(page, address, **fields):
    answer = page.post(address, fields)
    found = Preparation.objects.get()
    assert answer.headers["Location"] == reverse("copy", args=[found.public_id])
    return found


def test_a_large_batch_is_copied_in_the_background(page, make_batch):
    batch = make_batch(waiting=4, name=HOSTILE)
    found = begun(page, reverse("batch-clones", args=[batch.public_id]), name="Again", start="1")
    address = reverse("copy", args=[found.public_id])
    Preparation.objects.update(stored=2)
    text = page.get(address).content.decode()
    assert f"of {batch.total} items" in text
    assert "It starts by itself once every item is stored." in text
    assert HOSTILE not in text
    assert f"Copying 2 of {batch.total} items" in page.get("/").content.decode()
    filing.work_through()
    made = Batch.objects.get(clone_of=batch)
    assert made.state == "queued"
    there = reverse("batch", args=[made.public_id])
    assert page.get(address).headers["Location"] == there
    assert page.get(address, headers={"HX-Request": "true"}).headers["HX-Redirect"] == there


def test_what_could_not_be_copied_says_why_and_can_be_put_away(page, make_batch):
    batch = make_batch(waiting=4)
    found = begun(page, reverse("batch-clones", args=[batch.public_id]))
    Preparation.objects.update(state="editing", error={"message": f"No price. {HOSTILE}"})
    text = page.get(reverse("copy", args=[found.public_id])).content.decode()
    assert "was not copied" in text
    assert "No price." in text
    assert HOSTILE not in text
    page.post(reverse("copy-discard", args=[found.public_id]))
    assert not Preparation.objects.exists()


def test_a_large_batch_is_rejected_and_sent_again_in_the_background(page, reviewed):
    found = begun(
        page, reverse("review-rejection", args=[reviewed.public_id]),
        reason="Off the point.", rerun="all", version="1",
    )  # fmt: skip
    text = page.get(reverse("copy", args=[found.public_id])).content.decode()
    assert "until then it stays in review" in text
    review = page.get(reverse("review", args=[reviewed.public_id])).content.decode()
    assert "0 of 4 items copied</a> to be sent again" in review
    answer = page.post(
        reverse("review-rejection", args=[reviewed.public_id]),
        {"reason": "Once more.", "rerun": "all"}, follow=True,
    )  # fmt: skip
    assert "rejected and sent again already" in answer.content.decode()
    filing.work_through()
    reviewed.refresh_from_db()
    assert (reviewed.state, reviewed.reruns.get().state) == ("rejected", "queued")


def test_a_rejection_without_a_reason_copies_nothing(page, reviewed):
    address = reverse("review-rejection", args=[reviewed.public_id])
    answer = page.post(address, {"reason": " ", "rerun": "all"}, follow=True)
    assert "A rejection needs a reason." in answer.content.decode()
    assert not Preparation.objects.exists()
