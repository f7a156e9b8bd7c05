"""The page of a batch: its figures, its items page by page, what failed, what happened."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from batchboard.models import Attempt, Batch, Event, Item
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db
STARTED = timezone.now() - timedelta(minutes=5)


def keys(page: Client, batch: Batch, query: str = "") -> list[str]:
    text = page.get(f"/batches/{batch.public_id}/{query}").content.decode()
    return re.findall(r'<th scope="row"><a [^>]*><bdi>(.*?)</bdi>', text)


def link(page: Client, batch: Batch, query: str, rel: str) -> str | None:
    text = page.get(f"/batches/{batch.public_id}/{query}").content.decode()
    found = re.search(rf'href="([^"]*)" rel="{rel}"', text)
    return found[1].replace("&amp;", "&") if found else None


def test_it_says_where_the_batch_stands(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch(
        "running", waiting=5, running=8, succeeded=26, dead=1, started_at=STARTED,
        cost=Decimal("0.29"), estimate_expected=Decimal("0.45"), estimate_worst=Decimal("0.71"),
        input_tokens=1_000, cache_read_tokens=9_000,
    )  # fmt: skip
    text = page.get(f"/batches/{batch.public_id}/").content.decode()
    for part in (
        '<b class="figure">27</b> of 40', '<b class="figure">8</b> / 20',
        '<b class="figure">$0.29</b> of est. $0.45<span>, worst $0.71', "90\u202f%",
        "Ticket triage v1", "Time left",
    ):  # fmt: skip
        assert part in text
    assert text.count("<h1") == 1


def test_a_batch_that_is_not_there_is_not_found(page: Client) -> None:
    assert page.get("/batches/b_nothing/").status_code == 404


class TestItems:
    @pytest.fixture
    def batch(self, make_batch: MakeBatch) -> Batch:
        return make_batch(
            "running", succeeded=60, dead=2, running=3, waiting=60, started_at=STARTED
        )

    @pytest.mark.parametrize(
        ("state", "first", "count"),
        [
            ("", "item-000", 50),
            ("succeeded", "item-000", 50),
            ("dead", "item-060", 2),
            ("running", "item-062", 3),
            ("waiting", "item-065", 50),
            ("cancelled", None, 0),
        ],
    )
    def test_a_tab_shows_the_items_of_its_state(
        self, page: Client, batch: Batch, state: str, first: str | None, count: int
    ) -> None:
        found = keys(page, batch, f"?state={state}")
        assert len(found) == count
        assert (found[0] if found else None) == first

    def test_tabs_count_by_the_batch_s_counters(self, page: Client, batch: Batch) -> None:
        text = page.get(f"/batches/{batch.public_id}/").content.decode()
        for title, count in (
            ("All", 125), ("Succeeded", 60), ("Running", 3), ("Waiting", 60), ("Dead", 2)
        ):  # fmt: skip
            assert re.search(rf'>{title} <span class="muted">{count}\s*</span>', text)

    def test_pages_lead_there_and_back_without_a_gap(self, page: Client, batch: Batch) -> None:
        query, seen, pages = "", [], []
        while query is not None:
            pages.append(keys(page, batch, query))
            seen += pages[-1]
            query = link(page, batch, query, "next")
        assert seen == [f"item-{n:03}" for n in range(125)]
        second = link(page, batch, f"?after={99}", "prev")
        assert second == "?before=100"
        assert keys(page, batch, second) == pages[1]
        assert link(page, batch, "", "prev") is None

    def test_a_waiting_item_that_was_called_before_stands_at_its_place(
        self, page: Client, batch: Batch
    ) -> None:
        Item.objects.filter(batch=batch, key="item-005").update(
            state="waiting", due_at=timezone.now()
        )
        assert keys(page, batch, "?state=waiting")[:2] == ["item-005", "item-065"]
        assert keys(page, batch, "?state=waiting&before=66") == ["item-005", "item-065"]

    def test_search_finds_keys_by_how_they_begin(self, page: Client, batch: Batch) -> None:
        assert keys(page, batch, "?find=item-01") == [f"item-01{n}" for n in range(10)]
        assert keys(page, batch, "?find=item-06&state=dead") == ["item-060", "item-061"]
        assert keys(page, batch, "?find=tem") == []
        assert keys(page, batch, "?find=%25") == []
        first = keys(page, batch, "?find=item")
        following = link(page, batch, "?find=item", "next")
        assert following is not None
        assert first + keys(page, batch, following) == [f"item-{n:03}" for n in range(100)]

    @pytest.mark.parametrize(
        "query",
        [
            "?after=x", "?after=-1", "?after=99999999999999999999", "?after=²", "?state=nothing",
            "?before=", "?find=%00", "?find=%00&after=%00", "?after=1%00",
        ],
    )  # fmt: skip
    def test_nonsense_in_the_address_shows_the_first_page(
        self, page: Client, batch: Batch, query: str
    ) -> None:
        assert keys(page, batch, query)[0] == "item-000"

    def test_no_page_counts_items_or_skips_over_them(
        self, page: Client, batch: Batch, django_assert_max_num_queries: Any
    ) -> None:
        for query in ("", "?after=50", "?state=dead", "?state=waiting", "?find=item-1"):
            with django_assert_max_num_queries(25) as asked:
                page.get(f"/batches/{batch.public_id}/live{query}")
            for statement in (entry["sql"] for entry in asked.captured_queries):
                assert "OFFSET" not in statement
                if "COUNT(" in statement and '"batchboard_item"' in statement:
                    assert "'dead'" in statement  # served by the index of dead items alone

    @pytest.mark.skipif("connection.vendor != 'sqlite'")
    @pytest.mark.parametrize(
        ("query", "index"),
        [
            ("", "sqlite_autoindex_batchboard_item_1"),
            ("?after=50", "sqlite_autoindex_batchboard_item_1"),
            ("?find=item-1", "sqlite_autoindex_batchboard_item_2"),
            ("?state=dead", "item_dead"),
        ],
    )
    def test_an_index_serves_each_page(
        self,
        page: Client,
        batch: Batch,
        django_assert_max_num_queries: Any,
        query: str,
        index: str,
    ) -> None:
        with django_assert_max_num_queries(25) as asked:
            page.get(f"/batches/{batch.public_id}/live{query}")
        wanted = next(
            entry["sql"] for entry in asked.captured_queries
            if 'FROM "batchboard_item"' in entry["sql"] and "LIMIT 51" in entry["sql"]
        )  # fmt: skip
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {wanted}")
            plan = " ".join(row[3] for row in cursor.fetchall())
        assert index in plan
        assert "TEMP B-TREE" not in plan

    def test_what_is_not_known_is_a_dash(self, page: Client, make_batch: MakeBatch) -> None:
        batch = make_batch("queued", waiting=1)
        text = page.get(f"/batches/{batch.public_id}/").content.decode()
        row = re.search(r'<tr id="item-.*?</tr>', text, re.DOTALL)
        assert row
        assert row[0].count(">–<") == 5
        assert "not called yet" in row[0]

    def test_an_item_that_succeeded_after_a_failure_says_so(
        self, page: Client, make_batch: MakeBatch, worker: Any
    ) -> None:
        batch = make_batch("running", succeeded=1, waiting=1, started_at=STARTED)
        item = batch.items.get(position=0)
        earlier = Attempt.objects.get(item=item)
        Attempt.objects.filter(pk=earlier.pk).update(outcome="overloaded")
        Attempt.objects.create(
            item=item, batch=batch, worker=worker, model="m", mode="cached", call=9_999,
            max_tokens=1, reserved=0, granted_at=STARTED, ended_at=STARTED, outcome="ok",
        )  # fmt: skip
        text = page.get(f"/batches/{batch.public_id}/").content.decode()
        assert "ok, after overloaded (529)" in text


def test_failures_are_grouped_by_reason_with_what_was_done(
    page: Client, make_batch: MakeBatch
) -> None:
    batch = make_batch("running", dead=2, succeeded=3, waiting=3, started_at=STARTED)
    Attempt.objects.filter(batch=batch, outcome="ok").update(outcome="rate_limited")
    text = page.get(f"/batches/{batch.public_id}/").content.decode()
    panel = text[text.index('id="failures-title"') :]
    assert "Contract not met" in panel
    assert "Rate limited (429)" in panel
    assert "Regenerated once." in panel
    assert "the item loses no try" in panel
    assert '<a href="?state=dead&amp;outcome=contract">Open</a>' in panel
    assert "Send 2 again" in panel


def test_failures_that_cost_no_item_say_so(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("review", succeeded=3, started_at=STARTED, finished_at=STARTED)
    Attempt.objects.filter(batch=batch).update(outcome="overloaded")
    panel = page.get(f"/batches/{batch.public_id}/").content.decode().split('id="failures"')[1]
    assert "twice at the most, after a growing delay" in panel
    assert "All succeeded in the end." in panel


def test_where_nothing_came_back_there_is_no_sample_to_review(
    page: Client, make_batch: MakeBatch
) -> None:
    batch = make_batch("review", dead=3, started_at=STARTED, finished_at=STARTED)
    text = page.get(f"/batches/{batch.public_id}/").content.decode()
    assert "Review the sample" not in text
    assert re.search(r'review/">.*?</svg>Decide</a>', text)


def test_a_new_reason_stands_below_those_that_are_read(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("running", dead=2, succeeded=1, waiting=3, started_at=STARTED)
    tries = Attempt.objects.filter(batch=batch)
    tries.filter(outcome="ok").update(outcome="overloaded", ended_at=STARTED)
    tries.exclude(outcome="overloaded").update(ended_at=STARTED + timedelta(seconds=1))
    text = page.get(f"/batches/{batch.public_id}/").content.decode()
    panel = text[text.index('id="failures-title"') :]
    assert panel.index("Overloaded (529)") < panel.index("Contract not met")


def test_a_block_says_its_cause_and_what_helps(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch(
        "running", waiting=3, blocked="spend_cap", blocked_detail="402: limit reached"
    )
    text = page.get(f"/batches/{batch.public_id}/").content.decode()
    assert "Blocked: the provider&#x27;s spend limit is reached" in text
    assert "402: limit reached" in text
    assert "Raise the limit with the provider" in text


def test_activity_tells_who_did_what(page: Client, make_batch: MakeBatch, person: Any) -> None:
    batch = make_batch("draft", waiting=3)
    batch.start(by=person)
    batch.pause()
    text = page.get(f"/batches/{batch.public_id}/").content.decode()
    assert "<b>Mara Voss</b> started it" in text
    assert "<p>Paused</p>" in text
    assert "created it with 3 items" in text
    assert text.index("created it") < text.index("started it") < text.index("<p>Paused</p>")


def test_a_long_review_leaves_the_rest_of_the_activity_in_sight(
    page: Client, make_batch: MakeBatch, person: Any
) -> None:
    batch = make_batch("running", succeeded=50, running=1, started_at=STARTED)
    batch.comments.create(author=person, text="Mind the prices")
    for number in range(40):
        verdict = "fail" if number == 3 else "pass"
        Event.objects.record(
            "review.judged", by=person, batch=batch, key=f"k{number}", verdict=verdict
        )
    Event.objects.record("review.took_back", by=person, batch=batch, key="k3")
    Event.objects.record("review.judged", by=person, batch=batch, key="k3", verdict="pass")
    text = page.get(f"/batches/{batch.public_id}/").content.decode()
    assert "Mind the prices" in text
    assert "judged 40 results: 39 pass, 1 fail" in text
    assert text.index("39 pass") < text.index("took back") < text.index("judged k3: pass")


def test_activity_tells_an_override_and_why(
    page: Client, make_batch: MakeBatch, person: Any
) -> None:
    batch = make_batch("running", succeeded=5, running=1, started_at=STARTED)
    told = {"bad": 2, "drawn": 5, "reason": "Known & harmless."}
    Event.objects.record("batch.approve", by=person, batch=batch, **told)
    Event.objects.record("batch.reject", by=person, batch=batch, reason="Off.", rerun="bad")
    text = page.get(f"/batches/{batch.public_id}/").content.decode()
    assert "approved the results against the sample (2 bad of 5): Known &amp; harmless." in text
    assert "rejected the results, the bad ones to go again: Off." in text


def test_figures_keep_their_places_when_the_last_item_ends(
    page: Client, make_batch: MakeBatch
) -> None:
    def names(batch: Any) -> list[str]:
        text = page.get(f"/batches/{batch.public_id}/live").content.decode()
        figures = text[text.index('id="figures"') : text.index("</dl>")]
        return re.findall(r"<dt>([^<]+)", figures)

    runs = names(make_batch("running", running=1, started_at=STARTED))
    ended = names(make_batch("review", succeeded=1, started_at=STARTED, finished_at=STARTED))
    assert len(runs) == len(ended) == 10
    assert [name for name in runs if name in ended] == [
        "Done", "Succeeded", "In flight", "Waiting", "Dead letter", "Per task", "Tokens",
        "Read from the cache",
    ]  # fmt: skip


def test_the_plot_is_asked_for_once_more_when_the_last_item_ended(
    page: Client, make_batch: MakeBatch
) -> None:
    runs = make_batch("running", running=1, started_at=STARTED)
    ended = make_batch("review", succeeded=1, started_at=STARTED, finished_at=STARTED)
    asks = [
        re.findall(
            r'id="(plot-asks[^"]*)"', page.get(f"/batches/{one.public_id}/").content.decode()
        )
        for one in (runs, ended)
    ]
    assert asks == [["plot-asks"], ["plot-asks-ended"]]


def test_no_answer_is_shown_before_the_gate(page: Client, make_batch: MakeBatch) -> None:
    from batchboard.models import Answer

    batch = make_batch("review", succeeded=3, finished_at=STARTED)
    for attempt in Attempt.objects.filter(batch=batch):
        Answer.objects.create(attempt=attempt, text="the secret answer")
    text = page.get(f"/batches/{batch.public_id}/").content.decode()
    assert "secret answer" not in text


def test_queries_do_not_grow_with_the_items(
    page: Client, make_batch: MakeBatch, django_assert_max_num_queries: Any
) -> None:
    batch = make_batch("running", succeeded=30, dead=5, running=5, waiting=30, started_at=STARTED)
    with django_assert_max_num_queries(19):
        page.get(f"/batches/{batch.public_id}/")


def test_the_fragment_is_the_markup_of_the_page(
    page: Client, make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_batch("review", succeeded=60, dead=5, started_at=STARTED, finished_at=STARTED)
    moment = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: moment)
    for query in ("", "?state=dead", "?find=item-0"):
        whole = page.get(f"/batches/{batch.public_id}/{query}").content.decode()
        fragment = page.get(f"/batches/{batch.public_id}/live{query}").content.decode()
        assert fragment in whole
