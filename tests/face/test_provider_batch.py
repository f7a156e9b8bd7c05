"""What the pages say of items that are with the provider in message batches."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from batchboard.models import Attempt, Batch, Limits, Submission
from batchboard.states import SubmissionState
from tests.engine.test_submitting import decide
from tests.factories import queued

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(announced: object) -> Batch:
    batch = queued(70, mode="provider_batch", name="Nightly tickets")
    decide()
    Submission.objects.update(
        state=SubmissionState.WORKING, sent_at=timezone.now() - timedelta(minutes=12)
    )
    batch.refresh_from_db()
    return batch


def text_of(page: Client, address: str) -> str:
    return page.get(address).content.decode()


def test_the_batch_says_how_much_is_with_the_provider_and_since_when(
    page: Client, batch: Batch
) -> None:
    text = text_of(page, f"/batches/{batch.public_id}/")
    assert "With the provider, 70 requests: sent" in text
    assert "12 min" in text
    assert '<dt>With the provider</dt><dd><b class="figure">70</b> / 70' in text
    assert "provider batch, half the price" in text
    assert "Waits for a worker" not in text


def test_its_items_are_found_as_running_and_say_where_they_are(page: Client, batch: Batch) -> None:
    text = text_of(page, f"/batches/{batch.public_id}/?state=running")
    assert "with the provider" in text
    assert "on its way to a worker" not in text
    item = text_of(page, f"/batches/{batch.public_id}/items/k0")
    assert "With the provider" in item


def test_the_board_shows_it_and_counts_no_call_in_flight(page: Client, batch: Batch) -> None:
    text = text_of(page, "/")
    assert "With the provider, 70 requests: sent" in text
    assert "70 / 70 with the provider" in text
    assert "0 / 20 calls in flight" in text


def test_its_money_is_reserved_on_the_limits_bar_and_counts_against_a_new_ceiling(
    page: Client, batch: Batch
) -> None:
    from batchboard.models.consequences import stops
    from batchboard.views.limits_bar import current_bar

    held = sum(Attempt.objects.values_list("reserved", flat=True), Decimal(0))
    assert current_bar().reserved == held > 0
    limits = Limits.objects.current()
    assert (
        "Every batch would be blocked" in stops(limits, {"budget": held}, timezone.now())["budget"]
    )
    assert stops(limits, {"budget": held * 2}, timezone.now()) == {}


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (SubmissionState.READY, "Waits to be sent to the provider, 70 requests"),
        (SubmissionState.SENDING, "On the way to the provider, 70 requests"),
        (SubmissionState.COLLECTING, "Results come in: 50 of 70"),
    ],
)
def test_each_step_has_its_words(
    page: Client, batch: Batch, state: SubmissionState, says: str
) -> None:
    Submission.objects.update(state=state, unsettled=20)
    assert says in text_of(page, f"/batches/{batch.public_id}/")


def test_what_went_wrong_is_said(page: Client, batch: Batch) -> None:
    Submission.objects.update(state=SubmissionState.READY, problem="429: Too many batches.")
    text = text_of(page, f"/batches/{batch.public_id}/")
    assert "70 requests (429: Too many batches)" in text


def test_a_cancelled_batch_says_that_the_provider_is_asked_to_stop(
    page: Client, batch: Batch
) -> None:
    batch.cancel()
    assert "The provider is asked to stop" in text_of(page, f"/batches/{batch.public_id}/")
