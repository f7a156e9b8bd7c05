"""The board: which batch stands where, what its card says, and what that costs the database."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from batchboard.models import Attempt, Batch, Limits, ModelLimit, Review, SampledItem, User
from batchboard.views.columns import Column
from tests.face.conftest import MakeBatch
from tests.factories import admit, live_worker, queued

pytestmark = pytest.mark.django_db
STARTED = timezone.now() - timedelta(minutes=5)


def columns(page: Client, query: str = "") -> dict[str, tuple[int, str]]:
    """For each column, the count in its header and the text of its cards."""
    text = page.get(f"/{query}").content.decode()
    found = {}
    for part in text.split('<section class="column')[1:]:
        name = re.search(r'id="column-(\w+)"', part)
        count = re.search(r'</h2><span class="muted">([\d,]+)</span>', part)
        assert name
        assert count
        found[name[1]] = int(count[1].replace(",", "")), part
    return found


@pytest.mark.parametrize(
    ("state", "extra", "column"),
    [
        ("draft", {}, "draft"),
        ("queued", {}, "queued"),
        ("paused", {}, "queued"),
        ("running", {"started_at": STARTED}, "running"),
        ("paused", {"started_at": STARTED}, "running"),
        ("review", {"started_at": STARTED}, "review"),
        ("approved", {"started_at": STARTED}, "released"),
        ("released", {"started_at": STARTED}, "released"),
    ],
)
def test_a_batch_stands_in_the_column_of_its_state(
    page: Client, make_batch: MakeBatch, state: str, extra: dict[str, Any], column: str
) -> None:
    batch = make_batch(state, waiting=3, **extra)
    for name, (count, cards) in columns(page).items():
        assert count == (name == column)
        assert (batch.public_id in cards) == (name == column)


@pytest.fixture
def starts_meanwhile(make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> Batch:
    """A batch that is queued when that column is read, and runs when the next one is."""
    batch = make_batch("queued", waiting=3)
    read = Column.batches

    def then_it_starts(column: Column, *arguments: Any) -> list[Batch]:
        found = read(column, *arguments)
        if column.name == "queued":
            Batch.objects.update(state="running", started_at=STARTED)
        return found

    monkeypatch.setattr(Column, "batches", then_it_starts)
    return batch


def test_a_batch_that_moves_while_the_columns_are_read_has_one_card(
    page: Client, starts_meanwhile: Batch
) -> None:
    batch = starts_meanwhile
    text = page.get("/").content.decode()
    assert text.count(f'id="card-{batch.public_id}"') == 1
    assert f'id="card-{batch.public_id}"' in columns(page)["running"][1]


def test_a_column_counts_no_card_that_moved_on_while_it_was_read(
    page: Client, starts_meanwhile: Batch
) -> None:
    count, cards = columns(page)["queued"]
    assert count == 0
    assert "1 more" not in cards


@pytest.mark.parametrize("state", ["rejected", "cancelled"])
def test_rejected_and_cancelled_are_folded_away(
    page: Client, make_batch: MakeBatch, state: str
) -> None:
    batch = make_batch(state, waiting=3)
    folded = page.get("/").content.decode()
    assert batch.public_id not in folded
    assert "Show" in folded
    count, cards = columns(page, "?ended=1")["ended"]
    assert count == 1
    assert batch.public_id in cards


def test_a_column_shows_fifty_cards_and_says_how_many_are_older(
    page: Client, make_batch: MakeBatch
) -> None:
    for _ in range(53):
        make_batch("draft", waiting=1)
    count, cards = columns(page)["draft"]
    assert count == 53
    assert cards.count("<article") == 50
    assert "3 older" in cards


def test_a_card_says_how_far_it_is(page: Client, make_batch: MakeBatch) -> None:
    make_batch(
        "running", waiting=2, running=3, succeeded=4, dead=1, started_at=STARTED,
        cost=Decimal("0.29"), estimate_expected=Decimal("0.45"), concurrency=4,
    )  # fmt: skip
    card = columns(page)["running"][1]
    assert "10 items" in card
    assert "haiku-4.5" in card
    assert "3 / 4 in flight" in card
    assert "<b>5</b> of 10" in card
    assert "1 dead" in card
    assert "$0.29" in card
    assert "of est. $0.45" in card
    assert '<span class="muted">[Batch]</span>' in card
    assert card.count('<i class="succeeded">') == 4
    assert card.count('<i class="dead">') == 1
    assert card.count('<i class="running">') == 3
    assert card.count('<i class="waiting">') == 2


def test_a_large_batch_has_segments_not_cells(page: Client, make_batch: MakeBatch) -> None:
    make_batch("running", waiting=30, succeeded=30, dead=1, started_at=STARTED)
    card = columns(page)["running"][1]
    assert "<i " not in card
    assert '<rect class="dead"' in card


@pytest.mark.parametrize(
    ("state", "extra", "says", "tone"),
    [
        ("running", {"waits_for": "rpm"}, "Waits for requests per minute", "hold"),
        ("running", {"blocked": "budget"}, "Blocked: budget spent", "person"),
        ("queued", {"waits_for": "slot"}, "Waits for a free slot", "hold"),
        ("paused", {}, "Paused", "wait"),
        ("draft", {}, "Under 15 items", "wait"),
    ],
)
def test_what_stands_still_says_why(
    page: Client,
    make_batch: MakeBatch,
    state: str,
    extra: dict[str, Any],
    says: str,
    tone: str,
) -> None:
    make_batch(state, waiting=3, **extra)
    text = page.get("/").content.decode()
    assert re.search(rf'class="strip tone-{tone}".*?{says}', text, re.DOTALL)


def test_a_shared_pause_counts_down(page: Client, make_batch: MakeBatch) -> None:
    until = timezone.now() + timedelta(seconds=8)
    make_batch("running", waiting=3, waits_for="provider_pause", waits_until=until)
    text = page.get("/").content.decode()
    assert "Rate limited (429): resumes in" in text
    assert 'data-ticks="left"' in text


def test_an_outage_says_what_the_provider_does_on_the_card_and_over_the_board(
    page: Client, make_batch: MakeBatch, version: Any
) -> None:
    until = timezone.now() + timedelta(seconds=8)
    make_batch("running", waiting=3, waits_for="overloaded", waits_until=until, started_at=STARTED)
    ModelLimit.objects.create(
        model=version.model, in_outage=True, unanswered=20, unanswered_as="overloaded",
        unanswered_since=timezone.now() - timedelta(minutes=3), paused_until=until,
    )  # fmt: skip
    text = page.get("/").content.decode()
    assert "Provider overloaded (529): asked again in" in text
    assert "Provider overloaded (529): haiku-4.5 answers no call, first noticed" in text
    assert "s left" not in columns(page)["running"][1].split("asked again")[0]
    text = page.get("/limits/").content.decode()
    assert "Provider overloaded (529). Holds up 1 batch, 3 items." in text


def test_a_last_item_that_hangs_is_waited_for_in_words(page: Client, make_batch: MakeBatch) -> None:
    make_batch("running", succeeded=3, running=1, started_at=STARTED)
    Attempt.objects.live().update(started_at=timezone.now() - timedelta(seconds=18))
    card = columns(page)["running"][1]
    assert "Waits for its last item, cut off after 2 min: sent" in card
    assert "18 s ago" in card


def test_last_items_that_were_sent_just_now_are_not_spoken_of(
    page: Client, make_batch: MakeBatch
) -> None:
    make_batch("running", succeeded=3, running=1, started_at=STARTED)
    Attempt.objects.live().update(started_at=timezone.now() - timedelta(seconds=3))
    assert "its last item" not in columns(page)["running"][1]


def test_a_block_says_since_when(page: Client, make_batch: MakeBatch) -> None:
    at = timezone.now() - timedelta(minutes=3)
    make_batch("running", waiting=3, blocked="key_refused", blocked_at=at)
    card = columns(page)["running"][1]
    assert re.search(r"refused the key or the model, <time[^>]*>3 min ago</time>", card)


def test_a_batch_without_a_worker_says_so(page: Client, make_batch: MakeBatch, worker: Any) -> None:
    make_batch("queued", waiting=3)
    worker.delete()
    text = page.get("/").content.decode()
    assert "Waits for a worker: none takes work" in text
    assert "nothing is sent until one runs" in text


def test_the_time_left_holds_the_pause_that_it_begins_with(
    page: Client, make_batch: MakeBatch, time_machine: Any
) -> None:
    now = timezone.now()
    time_machine.move_to(now, tick=False)
    began = now - timedelta(seconds=30)
    make_batch(
        "running", succeeded=30, waiting=10, started_at=began, pace_since=began,
        waits_for="provider_pause", waits_until=now + timedelta(seconds=40),
    )  # fmt: skip
    assert "~50 s left" in columns(page)["running"][1]


def test_who_paused_it_and_when(page: Client, make_batch: MakeBatch, person: User) -> None:
    batch = make_batch("running", waiting=3, started_at=STARTED)
    batch.pause(by=person)
    text = page.get("/").content.decode()
    assert re.search(r"Paused by Mara Voss, <time[^>]*>\d+ s ago</time>", text)
    assert f"{batch.public_id}/resumption" in text


def test_a_review_says_how_far_it_is(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("review", succeeded=5, finished_at=STARTED)
    review = Review.objects.create(batch=batch, seed="s", population=5)
    for place, item in enumerate(batch.items.all()[:3]):
        verdict = "pass" if place else "fail"
        SampledItem.objects.create(review=review, item=item, place=place, verdict=verdict)
    assert "3 of 3 judged, 1 bad" in columns(page)["review"][1]


def test_a_review_without_a_result_offers_no_approval(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("review", dead=5, finished_at=STARTED)
    Review.objects.create(batch=batch, seed="s", population=0)
    cards = columns(page)["review"][1]
    assert "No result to review" in cards
    assert ">Decide</a>" in cards
    assert "Approve" not in cards


@pytest.mark.parametrize(
    ("states", "opened"),
    [
        (["running", "review"], "running"),
        (["draft", "review", "released"], "review"),
        (["draft", "queued"], "queued"),
        (["draft", "released"], "draft"),
        (["released"], "released"),
    ],
)
def test_a_narrow_screen_opens_on_no_empty_column_while_another_has_cards(
    page: Client, make_batch: MakeBatch, states: list[str], opened: str
) -> None:
    for state in states:
        make_batch(state, waiting=1)
    text = page.get("/").content.decode()
    assert re.findall(r'id="tab-(\w+)"[^>]* aria-current', text) == [opened]
    assert re.findall(r'is-shown" id="column-(\w+)"', text) == [opened]
    assert f'name="column" value="{opened}"' in text
    asked = page.get("/?column=queued").content.decode()
    assert re.findall(r'id="tab-(\w+)"[^>]* aria-current', asked) == ["queued"]


def test_an_empty_board_says_what_to_try(page: Client) -> None:
    text = page.get("/").content.decode()
    assert "manage.py batch run" in text


class TestLimits:
    def test_slots_show_what_is_used_free_and_cut(
        self, page: Client, make_batch: MakeBatch
    ) -> None:
        limits = Limits.objects.current()
        Limits.objects.filter(pk=limits.pk).update(
            concurrency=10, cap_factor=0.8, cap_reason="cut from 10 to 8 by a 429", binds="cap"
        )
        make_batch("running", waiting=2, running=5, started_at=STARTED)
        text = page.get("/board/limits").content.decode()
        assert text.count('class="filled"') == 5
        assert text.count('class="free"') == 3
        assert text.count('class="cut"') == 2
        assert "cap&nbsp;10<span>, cut to 8 by a 429" in text
        assert "binds" in text

    def test_a_large_cap_is_a_meter(self, page: Client, make_batch: MakeBatch) -> None:
        limits = Limits.objects.current()
        Limits.objects.filter(pk=limits.pk).update(concurrency=200)
        text = page.get("/board/limits").content.decode()
        assert "slots" not in text
        assert "meter" in text

    def test_a_pause_of_everything_is_said(self, page: Client, person: User) -> None:
        Limits.objects.current().pause_all(by=person)
        text = page.get("/board/limits").content.decode()
        assert "Everything is paused by Mara Voss" in text


def test_queries_do_not_grow_with_the_board(
    page: Client, make_batch: MakeBatch, django_assert_num_queries: Any
) -> None:
    for state in ("draft", "queued", "running", "paused", "review", "released", "cancelled"):
        make_batch(state, waiting=2, running=state == "running")
    page.get("/?ended=1")  # the row of the limits is made on first use
    with CaptureQueriesContext(connection) as one_each:
        page.get("/?ended=1")
    for _ in range(29):
        for state in ("queued", "running", "paused", "review"):
            make_batch(state, waiting=2, running=state == "running")
    with django_assert_num_queries(len(one_each)):
        page.get("/?ended=1")


def test_the_fragment_is_the_markup_of_the_page(
    page: Client, make_batch: MakeBatch, time_machine: Any
) -> None:
    time_machine.move_to(timezone.now(), tick=False)
    make_batch("running", waiting=2, running=1, dead=1, started_at=STARTED, waits_for="rpm")
    whole = page.get("/").content.decode()
    assert page.get("/board/columns").content.decode() in whole
    assert page.get("/board/limits").content.decode() in whole


def test_items_that_share_a_call_count_on_the_card_and_their_calls_in_the_column(
    page: Client, settings: Any
) -> None:
    settings.DISPATCH_CONCURRENCY = 3
    queued(40, mode="packed", group_size=5)
    admit(live_worker())
    text = page.get("/").content.decode()
    assert "15 / 15 in flight" in text
    assert "3 / 3 calls in flight" in text
