"""What a task cost before and after: what is compared, what is said of it, and what is not."""

import csv
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from batchboard.models import (
    Attempt,
    Batch,
    Item,
    Review,
    SampledItem,
    Tally,
    TaskType,
    TaskVersion,
    User,
)
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db
MAY = datetime(2026, 5, 6, 9, 0, tzinfo=UTC)

Ran = Callable[..., Batch]


@pytest.fixture
def ran(make_batch: MakeBatch) -> Ran:
    """A batch whose items cost about so much each, a tenth of them a little more or less."""

    def run(mode: str, cost: str, at: datetime = MAY, *, items: int = 20, **columns: Any) -> Batch:
        state = columns.pop("state", "released")
        times = {"started_at": at, "finished_at": at + timedelta(minutes=2)}
        batch = make_batch(state, succeeded=items, mode=mode, **times, **columns)
        spent = Decimal(0)
        for n, item in enumerate(Item.objects.filter(batch=batch)):
            each = Decimal(cost) * (90 + n % 20) / 100
            spent += each
            Item.objects.filter(pk=item.pk).update(cost=each)
            Attempt.objects.filter(item=item).update(
                cost=each, mode=mode, started_at=at, ended_at=at + timedelta(seconds=9),
                input_tokens=1_000 if mode == "single" else 100, output_tokens=100,
                cache_read_tokens=0 if mode == "single" else 900,
                cache_write_5m_tokens=0, cache_write_1h_tokens=0,
            )  # fmt: skip
        Batch.objects.filter(pk=batch.pk).update(cost=spent)
        batch.refresh_from_db()
        return batch

    return run


def judged(batch: Batch, passed: int, failed: int, by: User) -> None:
    review = Review.objects.create(batch=batch, state="approved", seed="s", population=batch.total)
    for n, item in enumerate(Item.objects.filter(batch=batch)[: passed + failed]):
        SampledItem.objects.create(
            review=review, item=item, place=n, verdict="pass" if n < passed else "fail",
            note="", judged_by=by,
        )  # fmt: skip


def verdict_of(text: str) -> str:
    """What the page says, without what differs each time around it."""
    return text[text.index('<section class="verdict') : text.index("</main>")]


def text_of(page: Client, query: str = "", **options: Any) -> str:
    return page.get(reverse("costs") + query, **options).content.decode()


def arms_of(text: str) -> list[list[str]]:
    """The cells of the table of arms, as words."""
    body = re.search(r'class="items arms".*?<tbody>(.*?)</tbody>', text, re.S)
    assert body
    rows = re.findall(r"<tr.*?</tr>", body[1], re.S)
    label = re.compile(r'<span class="phone-label">.*?</span>')
    return [
        [
            re.sub(r"<[^>]+>", "", label.sub("", cell)).strip()
            for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)
        ]
        for row in rows
    ]


def choices_of(text: str) -> list[str]:
    return re.findall(r'<option value="(\w+:[^"]+)"', text)


class TestWhatIsSaid:
    def test_a_task_that_became_cheaper_and_passes_review_as_often_is_better(
        self, page: Client, ran: Ran, person: User
    ) -> None:
        judged(ran("single", "0.02"), 12, 0, person)
        judged(ran("cached", "0.01", MAY + timedelta(days=7)), 12, 0, person)
        text = text_of(page)
        assert "Cost per task fell by 50\u202f% (" in text
        assert '<section class="verdict tone-ok"' in text
        assert "100\u202f% passed review before and after" in text
        before, after = arms_of(text)
        assert before[0] == "Before: single"
        assert after[0] == "After: cached"
        assert (before[3], after[3]) == ("–", "−50\u202f%")
        assert (before[-1], after[-1]) == ("The measure", "Better")
        assert after[6] == "90\u202f%", "of the input tokens came from the cache"
        assert '<tr class="is-chosen">' in text
        assert "Keep cached." in text

    def test_cheaper_is_not_called_better_where_nothing_was_reviewed(
        self, page: Client, ran: Ran
    ) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7))
        text = text_of(page)
        assert "Quality not compared" in text
        assert "tone-ok" not in text
        assert arms_of(text)[1][4] == "–", "nothing judged is not 0"

    def test_cheaper_that_fails_review_is_violet(
        self, page: Client, ran: Ran, person: User
    ) -> None:
        judged(ran("single", "0.02"), 20, 0, person)
        judged(ran("cached", "0.01", MAY + timedelta(days=7)), 8, 12, person)
        text = text_of(page)
        assert '<section class="verdict tone-person"' in text
        assert "Not better: fails review more" in text
        assert 'class="number is-low"' in text

    def test_a_task_that_became_dearer_is_red(self, page: Client, ran: Ran) -> None:
        ran("single", "0.01")
        ran("cached", "0.02", MAY + timedelta(days=7))
        text = text_of(page)
        assert "Cost per task rose by" in text
        assert '<section class="verdict tone-dead"' in text

    def test_too_few_items_say_how_many_more_are_needed(self, page: Client, ran: Ran) -> None:
        ran("single", "0.02", items=3)
        ran("cached", "0.01", MAY + timedelta(days=7), items=3)
        text = text_of(page)
        assert "Not enough items to tell" in text
        assert '<section class="verdict tone-wait"' in text

    def test_the_simulated_provider_is_named_where_it_was_measured_there(
        self, page: Client, ran: Ran
    ) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7))
        assert "simulated provider" not in text_of(page)
        Batch.objects.filter(mode="single").update(simulated=True)
        assert "single measured at the simulated provider: no real money" in text_of(page)
        Batch.objects.update(simulated=True)
        assert "Measured at the simulated provider: no real money." in text_of(page)

    def test_trials_count_for_nothing(self, page: Client, ran: Ran) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7), trial=True)
        assert "Nothing to compare yet" in text_of(page)


class TestAYear:
    def test_what_a_year_saves_follows_from_a_measured_week(
        self, page: Client, ran: Ran, clock: Any
    ) -> None:
        monday = clock.now - timedelta(days=clock.now.weekday())
        for week in range(1, 5):
            mode, cost = ("cached", "0.01") if week < 3 else ("single", "0.02")
            ran(mode, cost, monday - timedelta(weeks=week), items=40)
        found = re.search(r"At 40 items a week: \$([\d.]+) less a year", text_of(page))
        assert found
        assert float(found[1]) == pytest.approx(0.0099 * 40 * 365 / 7, abs=2)

    def test_without_a_usual_week_nothing_is_said_of_a_year(self, page: Client, ran: Ran) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7))
        assert "a year" not in text_of(page)


class TestWhatCanBeChosen:
    def test_by_mode_by_the_day_of_the_change_and_by_version(
        self, page: Client, ran: Ran, version: TaskVersion
    ) -> None:
        ran("single", "0.02")
        cached = ran("cached", "0.01", MAY + timedelta(days=7))
        second = newer(version)
        Batch.objects.filter(pk=cached.pk).update(version=second)
        text = text_of(page)
        assert choices_of(text) == ["mode:single:cached", "date:2026-05-13", "version:1:2"]
        assert '<option value="mode:single:cached" selected>single → cached' in text
        by_date = text_of(page, "?compare=date:2026-05-13")
        assert [row[0] for row in arms_of(by_date)] == [
            "Before: all until May 12", "After: all from May 13",
        ]  # fmt: skip
        by_version = text_of(page, "?compare=version:1:2")
        assert [row[0] for row in arms_of(by_version)] == ["Before: v1", "After: v2"]

    def test_a_day_on_which_everything_began_is_no_choice(self, page: Client, ran: Ran) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(hours=3))
        assert choices_of(text_of(page)) == ["mode:single:cached"]

    @pytest.mark.parametrize(
        "query", ["?type=x&compare=mode:a:b", "?type=999999", "?compare=%00", "?type=1%00"]
    )
    def test_an_address_that_asks_for_nothing_there_gets_the_best_there_is(
        self, page: Client, ran: Ran, query: str
    ) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7))
        assert arms_of(text_of(page, query))[0][0] == "Before: single"

    def test_the_task_type_is_chosen_in_the_address(self, page: Client, ran: Ran) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7))
        other = TaskType.objects.create(name="Other <b>")
        only = TaskVersion.objects.create(task_type=other, number=1, digest="o", model="m",
                                          prompt="{{ x }}", max_tokens=9)  # fmt: skip
        batch = ran("cached", "0.01", MAY + timedelta(days=30))
        Batch.objects.filter(pk=batch.pk).update(version=only)
        assert "Before: single" in text_of(page), "the one that has something to compare"
        text = text_of(page, f"?type={other.pk}")
        assert "Nothing to compare yet" in text
        assert "Other &lt;b&gt; v1" in text

    def test_htmx_gets_the_part_that_changes(self, page: Client, ran: Ran) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7))
        answer = page.get(reverse("costs"), headers={"HX-Request": "true"})
        text = answer.content.decode()
        assert "<html" not in text
        assert 'id="costs-form"' in text
        assert "HX-Request" in answer["Vary"]
        back = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
        assert "<html" in text_of(page, headers=back)


class TestPlots:
    def test_each_says_what_it_shows_and_has_its_numbers(self, page: Client, ran: Ran) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7))
        text = text_of(page)
        assert "Mean cost per task with its 95 % interval: Before: single $0.0199; " in text
        assert "single 1,100 tokens a task, 0\u202f% of them read from the cache" in text
        assert "single → cached on May 13." in text
        assert text.count("<summary>Show numbers</summary>") == 3
        assert text.count('role="img"') == 3

    def test_the_day_of_the_change_is_marked(self, page: Client, ran: Ran) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7))
        text = text_of(page)
        assert "May 13: single → cached</text>" in text
        assert len(re.findall('class="plot-dot', text)) == 2


class TestFile:
    def test_the_comparison_leaves_as_csv(self, page: Client, ran: Ran, person: User) -> None:
        judged(ran("single", "0.02"), 12, 0, person)
        ran("cached", "0.01", MAY + timedelta(days=7))
        answer = page.get(reverse("costs_csv"))
        assert answer["Content-Type"] == "text/csv; charset=utf-8"
        assert "costs-ticket-triage-mode-single-cached.csv" in answer["Content-Disposition"]
        before, after = csv.DictReader(StringIO(answer.content.decode()))
        assert (before["arm"], before["items"], before["pass_share"]) == ("single", "20", "1.0")
        assert before["change"] == ""
        assert float(after["change"]) == pytest.approx(-0.5, abs=0.01)
        assert float(after["cost_low_usd"]) < float(after["cost_per_task_usd"])
        assert after["pass_share"] == ""
        assert after["provider"] == "real"

    def test_nothing_to_compare_is_no_file(self, page: Client) -> None:
        assert page.get(reverse("costs_csv")).status_code == 404


class TestNothingYet:
    def test_the_page_teaches_what_it_will_tell(self, page: Client) -> None:
        text = text_of(page)
        assert "No batch has ended yet" in text
        assert "An example of what it says" in text
        assert f'href="{reverse("new")}"' in text

    def test_who_may_not_make_a_batch_is_told_who_may(self, client: Client, viewer: User) -> None:
        client.force_login(viewer)
        assert "An operator or an administrator can run one." in text_of(client)

    def test_a_batch_without_an_ended_item_is_nothing(
        self, page: Client, make_batch: MakeBatch
    ) -> None:
        make_batch("running", running=3, started_at=MAY)
        assert "No batch has ended yet" in text_of(page)


class TestKeeping:
    def asked(self, page: Client) -> int:
        with CaptureQueriesContext(connection) as queries:
            page.get(reverse("costs"))
        return len(queries)

    def test_it_asks_the_same_however_much_there_is(
        self, page: Client, ran: Ran, person: User
    ) -> None:
        judged(ran("single", "0.02"), 5, 0, person)
        judged(ran("cached", "0.01", MAY + timedelta(days=7)), 5, 0, person)
        Tally.objects.catch_up()
        self.asked(page)
        before = self.asked(page)
        for week in range(2, 8):
            judged(ran("cached", "0.01", MAY + timedelta(weeks=week), items=30), 9, 1, person)
        Tally.objects.catch_up()
        assert self.asked(page) == before
        assert before <= 22

    def test_no_item_is_read_at_the_first_view_either(self, page: Client, ran: Ran) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7))
        assert Tally.objects.catch_up() == 2
        with CaptureQueriesContext(connection) as queries:
            assert "20 items before and 20 after" in text_of(page)
        # What is judged, and the calls in flight that the head of every page tells.
        others = ("sampleditem", '"ended_at" IS NULL')
        read = [q["sql"] for q in queries if not any(one in q["sql"] for one in others)]
        assert not [sql for sql in read if "batchboard_item" in sql or "_attempt" in sql]

    def test_what_was_not_summed_up_yet_counts_the_same(self, page: Client, ran: Ran) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7), state="cancelled")
        first = verdict_of(text_of(page))
        Tally.objects.catch_up()
        assert verdict_of(text_of(page)) == first

    def test_a_verdict_or_another_batch_changes_it_at_once(
        self, page: Client, ran: Ran, person: User
    ) -> None:
        single = ran("single", "0.02")
        cached = ran("cached", "0.01", MAY + timedelta(days=7))
        assert "Quality not compared" in text_of(page)
        judged(single, 12, 0, person)
        judged(cached, 12, 0, person)
        assert "Quality not compared" not in text_of(page)
        ran("cached", "0.01", MAY + timedelta(days=14))
        assert "20 items before and 40 after" in text_of(page)

    def test_a_batch_under_way_is_left_out_and_said_so(self, page: Client, ran: Ran) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7))
        running = ran("cached", "0.01", MAY + timedelta(days=14), state="running")
        assert "20 items before and 20 after" in text_of(page)
        assert "cached: 1 batch is still under way, and not counted yet." in text_of(page)
        Batch.objects.filter(pk=running.pk).update(state="review")
        assert "20 items before and 40 after" in text_of(page)
        assert "under way" not in text_of(page)

    def test_a_mode_of_which_no_batch_ended_is_no_choice(self, page: Client, ran: Ran) -> None:
        ran("single", "0.02")
        ran("cached", "0.01", MAY + timedelta(days=7), state="running")
        assert "Nothing to compare yet" in text_of(page)


def test_the_tabs_lead_to_the_pages_of_costs(page: Client) -> None:
    text = text_of(page)
    assert f'href="{reverse("costs")}" aria-current="page">Before and after' in text
    assert f'href="{reverse("costs_estimates")}">Estimates' in text
    assert f'href="{reverse("costs")}" data-go="c" aria-current="page"' in text


def newer(version: TaskVersion) -> TaskVersion:
    return TaskVersion.objects.create(
        task_type=version.task_type, number=2, digest="d2", model=version.model,
        prompt="{{ x }}!", max_tokens=100,
    )  # fmt: skip
