"""What the pages say of items that are with the provider in message batches."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from batchboard.models import Attempt, Batch, LedgerDay, Limits, Submission
from batchboard.models.ledger_day import Line
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
    assert '<dt>With the provider</dt><dd><b class="figure">70</b></dd>' in text
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
    assert "70 with the provider" in text
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


def sent(ago: timedelta, **columns: object) -> None:
    Submission.objects.update(sent_at=timezone.now() - ago, **columns)


def test_it_says_when_results_are_usual_and_when_they_are_back_at_the_latest(
    page: Client, batch: Batch
) -> None:
    Batch.objects.update(estimate_seconds=3_600)
    text = text_of(page, "/")
    assert "~48 min left" in text
    shown = text_of(page, f"/batches/{batch.public_id}/")
    assert "~48 min</b>, at most <time" in shown
    assert ">23 h 4" in shown


def test_after_the_usual_time_only_the_latest_is_said(page: Client, batch: Batch) -> None:
    Batch.objects.update(estimate_seconds=3_600)
    sent(timedelta(hours=2))
    text = text_of(page, "/")
    assert "min left" not in text
    assert "back within" in text
    assert ">21 h 59 min<" in text


def test_how_many_results_are_in_says_nothing_about_the_time_left(
    page: Client, batch: Batch
) -> None:
    """Results come all at once after a long wait: there is no rate to go by."""
    Batch.objects.update(succeeded=1, started_at=timezone.now() - timedelta(hours=3))
    Submission.objects.update(state=SubmissionState.COLLECTING, unsettled=69)
    assert "left</span>" not in text_of(page, "/")


def test_the_plots_show_what_the_provider_has_and_no_calls(page: Client, batch: Batch) -> None:
    Batch.objects.update(started_at=timezone.now() - timedelta(minutes=13))
    address = f"/batches/{batch.public_id}/plot"
    drawn = text_of(page, f"{address}?plot=throughput")
    assert "70 at the most, 70 at the end, 0 results." in drawn
    assert "70 there now" in drawn
    assert "in flight" not in drawn
    assert "cap 20" not in drawn
    shown = text_of(page, f"/batches/{batch.public_id}/")
    assert ">With the provider</label>" in shown
    assert ">Message batches</label>" in shown
    assert ">Latency</label>" not in shown


def test_each_message_batch_has_a_bar_with_its_words(page: Client, batch: Batch) -> None:
    Batch.objects.update(started_at=timezone.now() - timedelta(minutes=13))
    address = f"/batches/{batch.public_id}/plot?plot=attempts"
    assert "70 requests, there 12 min" in text_of(page, address)
    Submission.objects.update(
        state=SubmissionState.ENDED,
        ended_at=timezone.now(),
        worked_at=timezone.now() - timedelta(minutes=2),
    )
    drawn = text_of(page, address)
    assert "70 requests, there 10 min" in drawn
    assert "1 message batch over" in drawn
    assert drawn.count("plot-try") == 1


def test_an_item_tells_of_its_message_batch(page: Client, batch: Batch) -> None:
    Submission.objects.update(provider_id="msgbatch_17")
    text = text_of(page, f"/batches/{batch.public_id}/items/k0")
    assert "In a message batch of 70 requests, <code>msgbatch_17</code>" in text
    assert "half the price" in text
    assert "On its way to a worker" not in text
    assert "provider batch \N{MIDDLE DOT} max_tokens" in text
    Submission.objects.update(state=SubmissionState.READY, sent_at=None)
    assert "Waits to be sent" in text_of(page, f"/batches/{batch.public_id}/items/k0")


def test_the_ledger_names_the_mode_in_words_and_says_that_its_price_is_half(
    page: Client, batch: Batch
) -> None:
    attempt = Attempt.objects.first()
    assert attempt is not None
    Attempt.objects.filter(pk=attempt.pk).update(
        ended_at=timezone.now(), outcome="ok", cost=Decimal("0.01"), input_tokens=10
    )
    rows = [Line(batch.pk, attempt.model, attempt.mode, (10, 0, 0, 0, 0), 10**8, None)]
    LedgerDay.objects.add(rows, timezone.now())
    text = text_of(page, "/costs/ledger/?by=mode&group=provider_batch")
    assert "Attempts: provider batch" in text
    assert "<small>provider batch</small>" in text
    assert "half of it in message batches" in text


def test_what_is_not_sent_yet_is_not_said_to_be_with_the_provider(
    page: Client, batch: Batch
) -> None:
    Submission.objects.update(state=SubmissionState.READY, sent_at=None)
    assert ">0 with the provider" in text_of(page, "/")
    shown = text_of(page, f"/batches/{batch.public_id}/?state=running")
    assert '<b class="figure">0</b>, 70 to send' in shown
    assert "waits to be sent" in shown
    first = Submission.objects.get()
    Submission.objects.create(
        batch=batch, state=SubmissionState.WORKING, requests=30, unsettled=30,
        created_at=first.created_at, sent_at=timezone.now(),
    )  # fmt: skip
    assert "With the provider, 30 requests, 70 more to be sent: sent" in text_of(page, "/")
    assert "back within" not in text_of(page, "/")


def test_what_is_not_billed_is_said_so(page: Client, batch: Batch) -> None:
    item = batch.items.get(key="k0")
    item.attempts.update(ended_at=timezone.now(), outcome="expired", cost=0)
    text = text_of(page, f"/batches/{batch.public_id}/items/k0")
    assert "not billed" in text
    assert "half the price" not in text


def test_of_several_rounds_those_to_come_take_their_time_as_well(
    page: Client, batch: Batch
) -> None:
    """Seventy items, ten at once: one round of seven is with the provider, two others ended."""
    Batch.objects.update(estimate_seconds=7 * 3_600, concurrency=10, succeeded=20)
    Submission.objects.update(requests=10, unsettled=10)
    text = text_of(page, "/")
    assert "~4 h 48 min left" in text
    assert "10 / 10 with the provider" in text
    assert "at most" not in text_of(page, f"/batches/{batch.public_id}/")


def test_its_settings_and_its_end_speak_of_requests_and_not_of_calls(
    page: Client, batch: Batch
) -> None:
    settings = text_of(page, f"/batches/{batch.public_id}/settings")
    assert "N, the most requests with the provider" in settings
    assert '<span class="unit">requests</span>' in settings
    assert "calls in flight</label>" not in settings
    shown = text_of(page, f"/batches/{batch.public_id}/")
    assert "the provider is asked to stop: what it did by then is paid" in shown
    assert "calls in flight as soon as" not in shown
