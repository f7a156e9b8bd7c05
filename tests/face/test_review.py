"""The review page: one drawn result at a time, what a reviewer does with it, and the decision."""

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from batchboard.models import Batch, SampledItem, User
from batchboard.roles import Role
from batchboard.views.review_progress import review_progress
from tests.factories import in_review, judge_all, new_version, task_version

pytestmark = pytest.mark.django_db

ACTING = ["reservation", "verdict", "retraction", "draw", "approval", "rejection"]
SCHEMA = {
    "type": "object", "required": ["level"], "additionalProperties": False,
    "properties": {"level": {"enum": ["high", "low"]}, "parts": {"type": "array"}},
}  # fmt: skip


def member(name: str, *roles: Role) -> User:
    user = User.objects.create_user(name)
    user.groups.set([Group.objects.get_or_create(name=role)[0] for role in roles])
    return user


@pytest.fixture
def reviewer(db: None) -> User:
    return member("reviewer1", Role.REVIEWER)


@pytest.fixture
def page(client: Client, reviewer: User) -> Client:
    client.force_login(reviewer)
    return client


@pytest.fixture
def batch(db: None) -> Batch:
    return in_review(20, version=task_version(check_list=["Every price is in the text"]))


def other(client: Client, user: User) -> Client:
    another = type(client)()
    another.force_login(user)
    return another


def keys(batch: Batch) -> list[str]:
    return [row["key"] for row in batch.sample()]


def text(page: Client, batch: Batch, query: str = "") -> str:
    return page.get(f"/batches/{batch.public_id}/review/{query}").content.decode()


def post(page: Client, batch: Batch, name: str, **data: Any) -> Any:
    return page.post(reverse(f"review-{name}", args=[batch.public_id]), data)


def shown(html: str) -> str:
    found = re.search(r'<h1[^>]*id="item-title"[^>]*><bdi>(.*?)</bdi>', html)
    assert found
    return found[1]


def answered(batch: Batch, key: str, answer: str) -> None:
    result = batch.items.get(key=key).result
    assert result is not None
    type(result.answer).objects.filter(pk=result.pk).update(text=answer)


class TestPage:
    def test_a_result_stands_beside_its_input_and_what_to_check(
        self, page: Client, batch: Batch
    ) -> None:
        key = keys(batch)[0]
        html = text(page, batch)
        assert shown(html) == key
        for part in (
            f"row {key[1:]}", "an answer", "Every price is in the text", "No contract",
            "5 drawn at random from 20 results", "0 of 5 judged", "you would have seen one with",
        ):  # fmt: skip
            assert part in html
        assert html.count("<h1") == 1

    def test_fields_of_an_answer_are_listed_and_the_contract_is_checked(self, page: Client) -> None:
        batch = in_review(3, version=task_version(contract=SCHEMA))
        for key in ("k0", "k1", "k2"):
            answered(batch, key, json.dumps({"level": "high", "parts": ["one", {"name": True}]}))
        html = text(page, batch)
        assert "Meets the contract: 2 of 2 fields" in html
        assert '<code class="value">high</code>' in html
        assert "<li><b>name</b>: <code" in html

    @pytest.mark.parametrize(
        ("hostile", "seen"),
        [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)"),
            ("pay \u202egpj.exe", "pay ⟨U+202E⟩gpj.exe"),
            ("\x1b[31mred\x07", "⟨U+001B⟩[31mred⟨U+0007⟩"),
            ('{"a<b": "<img src=x onerror=alert(1)>"}', "&lt;img src=x onerror"),
            ("javascript:alert(1)", "shown as text, not as a link"),
            ("{{ 7 }}{% now %}", "{{ 7 }}{% now %}"),
        ],
    )
    def test_what_came_back_is_text_and_nothing_else(
        self, page: Client, batch: Batch, hostile: str, seen: str
    ) -> None:
        key = keys(batch)[0]
        answered(batch, key, hostile)
        html = text(page, batch)
        assert seen in html
        for part in ("<script>alert", "<img src=x", "\u202e", "\x1b", 'href="javascript'):
            assert part not in html

    def test_lines_stay_lines(self, page: Client, batch: Batch) -> None:
        answered(batch, keys(batch)[0], "one\r\ntwo\n\tthree")
        assert "one\ntwo\n\tthree</pre>" in text(page, batch)

    def test_a_long_answer_is_cut_until_all_is_asked_for(self, page: Client, batch: Batch) -> None:
        key = keys(batch)[0]
        answered(batch, key, "x" * 1_000_000 + "THE END")
        html = text(page, batch)
        assert len(html) < 120_000
        assert "Show all 976.6\xa0KB" in html
        assert "THE END" not in html
        assert "THE END" in text(page, batch, f"?item={key}&all")

    def test_a_key_may_hold_anything(self, page: Client, batch: Batch) -> None:
        key = keys(batch)[0]
        batch.items.filter(key=key).update(key='a/b?c="d"&<e>')
        html = text(page, batch, "?item=a%2Fb%3Fc%3D%22d%22%26%3Ce%3E")
        assert shown(html) == "a/b?c=&quot;d&quot;&amp;&lt;e&gt;"
        assert "?item=a%2Fb%3Fc%3D%22d%22%26%3Ce%3E" in html

    def test_an_unknown_item_shows_the_next_to_judge(self, page: Client, batch: Batch) -> None:
        assert shown(text(page, batch, "?item=nothing")) == keys(batch)[0]

    @pytest.mark.parametrize("state", ["draft", "running", "cancelled"])
    def test_before_a_review_it_says_what_will_come(
        self, page: Client, make_batch: Any, state: str
    ) -> None:
        html = text(page, make_batch(state, waiting=3))
        assert "Nothing to review yet" in html
        assert "verdict-bar" not in html

    def test_without_results_it_says_so(self, page: Client) -> None:
        html = text(page, in_review(3, bad=3))
        assert "No item succeeded" in html
        assert "there is nothing to approve" in html

    def test_a_part_is_swapped_and_leaves_its_address(self, page: Client, batch: Batch) -> None:
        key = keys(batch)[2]
        answer = page.get(
            f"/batches/{batch.public_id}/review/?item={key}", headers={"HX-Request": "true"}
        )
        html = answer.content.decode()
        assert answer["HX-Replace-Url"].endswith(f"/review/?item={key}")
        assert "<html" not in html
        assert shown(html) == key

    def test_it_asks_the_same_few_questions_however_large_the_sample(
        self, page: Client, django_assert_num_queries: Any
    ) -> None:
        for size in (3, 40):
            batch = in_review(60, sample_size=size)
            with django_assert_num_queries(9):
                page.get(f"/batches/{batch.public_id}/review/live")

    def test_the_prompt_and_every_attempt_can_be_read(self, page: Client, batch: Batch) -> None:
        key = keys(batch)[0]
        address = reverse("review-prompt", args=[batch.public_id])
        html = page.get(f"{address}?item={key}").content.decode()
        assert f"Look at row {key[1:]}" in html
        assert page.get(f"{address}?item=other").status_code == 404


class TestVerdicts:
    def test_a_verdict_goes_on_to_the_next_that_is_open(
        self, page: Client, batch: Batch, reviewer: User
    ) -> None:
        first, second, *_ = keys(batch)
        answer = post(page, batch, "verdict", item=first, verdict="pass", note="fine")
        assert answer["Location"].endswith(f"?item={second}")
        judged = SampledItem.objects.get(item__key=first, review__batch=batch)
        assert (judged.verdict, judged.note, judged.judged_by) == ("pass", "fine", reviewer)
        assert "1 of 5 judged" in text(page, batch)

    def test_it_skips_what_another_is_judging(self, page: Client, batch: Batch) -> None:
        first, second, third, *_ = keys(batch)
        batch.reserve(second, member("reviewer2", Role.REVIEWER))
        answer = post(page, batch, "verdict", item=first, verdict="pass")
        assert answer["Location"].endswith(f"?item={third}")
        html = text(page, batch, f"?item={second}")
        assert "reviewer2 is judging this" in html
        assert 'value="pass"' not in html
        assert "<textarea" not in html

    def test_a_verdict_on_what_another_holds_is_refused_in_words(
        self, page: Client, batch: Batch
    ) -> None:
        key = keys(batch)[0]
        batch.reserve(key, member("reviewer2", Role.REVIEWER))
        answer = page.post(
            reverse("review-verdict", args=[batch.public_id]),
            {"item": key, "verdict": "pass"}, follow=True,
        )  # fmt: skip
        assert f"reviewer2 is judging {key}" in answer.content.decode()
        assert batch.open_review.judged == 0

    def test_a_fail_needs_a_note(self, page: Client, batch: Batch) -> None:
        post(page, batch, "verdict", item=keys(batch)[0], verdict="fail", note=" ")
        html = text(page, batch)
        assert "A fail needs a note that says what is wrong." in html
        assert batch.open_review.judged == 0

    @pytest.mark.parametrize("given", ["", "perhaps"])
    def test_a_verdict_is_pass_or_fail(self, page: Client, batch: Batch, given: str) -> None:
        post(page, batch, "verdict", item=keys(batch)[0], verdict=given)
        assert "A verdict is a pass or a fail." in text(page, batch)

    def test_the_last_verdict_is_taken_back_from_the_next_result(
        self, page: Client, batch: Batch
    ) -> None:
        first, second, *_ = keys(batch)
        batch.judge(first, "pass", by=member("reviewer2", Role.REVIEWER))
        post(page, batch, "verdict", item=second, verdict="pass")
        answer = post(page, batch, "retraction", item=keys(batch)[2])
        assert answer["Location"].endswith(f"?item={second}")
        assert batch.open_review.judged == 1

    def test_the_verdict_that_is_looked_at_is_taken_back(self, page: Client, batch: Batch) -> None:
        first, second, *_ = keys(batch)
        for key in (first, second):
            post(page, batch, "verdict", item=key, verdict="pass")
        post(page, batch, "retraction", item=first)
        assert batch.open_review.sampled.get(item__key=first).verdict == ""
        assert batch.open_review.judged == 1

    def test_after_the_last_verdict_the_decision_comes(self, page: Client) -> None:
        batch = in_review(3)
        for key in keys(batch):
            post(page, batch, "verdict", item=key, verdict="pass")
        html = text(page, batch)
        assert "All 3 results are judged" in html
        assert 'data-key="a"' in html
        assert "data-lands" in html


class TestReservation:
    def test_looking_reserves_only_once_the_page_asks_for_it(
        self, page: Client, batch: Batch
    ) -> None:
        key = keys(batch)[0]
        assert "Yours for" not in text(page, batch)
        html = post(page, batch, "reservation", item=key).content.decode()
        assert "Yours for 10 min" in html
        assert "<html" not in html

    def test_where_others_judge_what_is_left_the_page_says_for_whom_it_waits(
        self, page: Client
    ) -> None:
        batch = in_review(3)
        first, second, third = keys(batch)
        batch.reserve(third, member("reviewer2", Role.REVIEWER))
        post(page, batch, "verdict", item=first, verdict="pass")
        assert "judging what is left" not in text(page, batch)
        answer = post(page, batch, "verdict", item=second, verdict="pass")
        assert answer["Location"].endswith(f"?item={second}")
        assert "reviewer2 is judging what is left, for 10 min at most." in text(page, batch)

    def test_leaving_lets_go(self, page: Client, batch: Batch) -> None:
        post(page, batch, "reservation", item=keys(batch)[0])
        assert post(page, batch, "reservation", leaves="1").status_code == 204
        assert not SampledItem.objects.filter(reserved_by__isnull=False).exists()

    def test_what_is_held_comes_first_on_the_way_back(self, page: Client, batch: Batch) -> None:
        third = keys(batch)[2]
        post(page, batch, "reservation", item=third)
        assert shown(text(page, batch)) == third

    def test_the_board_knows_who_is_at_it(
        self, batch: Batch, reviewer: User, django_assert_num_queries: Any
    ) -> None:
        second = in_review(3)
        judge_all(second, fails=1)
        batch.judge(keys(batch)[0], "pass")
        batch.reserve(keys(batch)[1], reviewer)
        with django_assert_num_queries(1):
            found = review_progress([batch.pk, second.pk, 0])
        assert found[batch.pk].words == "1 of 5 judged, reviewer1 is on it"
        assert found[second.pk].words == "3 of 3 judged, 1 bad"


class TestDraw:
    def test_more_are_drawn_and_the_proof_follows(self, page: Client, batch: Batch) -> None:
        assert "Draw 5 more" in text(page, batch)
        post(page, batch, "draw", item=keys(batch)[0], count="5")
        html = text(page, batch)
        assert "0 of 10 judged" in html
        assert "10 drawn at random from 20 results" in html

    def test_the_first_of_them_follows_where_nothing_was_left(
        self, page: Client, batch: Batch
    ) -> None:
        *_, last = judge_all(batch)
        answer = post(page, batch, "draw", item=last, count="2")
        assert answer["Location"].endswith(f"?item={keys(batch)[5]}")

    @pytest.mark.parametrize("count", ["", "0", "-3", "x", "²", "99999999999999999999"])
    def test_nonsense_draws_nothing(self, page: Client, batch: Batch, count: str) -> None:
        post(page, batch, "draw", count=count)
        assert len(keys(batch)) == 5


class TestDecision:
    def test_approving_waits_for_every_verdict(self, page: Client, batch: Batch) -> None:
        html = text(page, batch)
        assert 'aria-disabled="true" aria-describedby="why-not"' in html
        assert "Approve opens when all 5 are judged." in html
        post(page, batch, "approval")
        assert "5 of 5 sampled results" in text(page, batch)

    def test_its_consequence_is_said_before(self, page: Client) -> None:
        batch = in_review(6, bad=2)
        judge_all(batch)
        html = page.get(reverse("review-approval", args=[batch.public_id])).content.decode()
        consequence = (
            "4 results can be exported, as JSONL, CSV or XLSX. 2 dead items have no result"
        )
        assert consequence in html
        assert "<textarea" not in html

    def test_an_approval_leaves_a_record(self, page: Client, batch: Batch) -> None:
        judge_all(batch)
        answer = page.post(reverse("review-approval", args=[batch.public_id]), follow=True)
        html = answer.content.decode()
        batch.refresh_from_db()
        assert batch.state == "released"
        for part in ("20 results are released.", "Approved and released", "<b>reviewer1</b>"):
            assert part in html
        for gone in ("verdict-bar", 'id="reservation"', "Draw 5 more", 'data-key="a"'):
            assert gone not in html

    def test_who_started_it_reads_why_they_may_not_approve(
        self, page: Client, reviewer: User, settings: Any
    ) -> None:
        settings.STARTER_MAY_APPROVE = False
        reviewer.groups.add(Group.objects.get_or_create(name=Role.OPERATOR)[0])
        batch = in_review(5, by=reviewer)
        judge_all(batch)
        html = text(page, batch)
        assert "You started this batch, so another reviewer has to approve it." in html
        assert 'data-key="a"' not in html
        post(page, batch, "approval")
        batch.refresh_from_db()
        assert batch.state == "review"

    def test_against_the_sample_a_reviewer_cannot_but_an_administrator_can(
        self, page: Client, batch: Batch, client: Client
    ) -> None:
        judge_all(batch, fails=2)
        assert "only an administrator may override it" in text(page, batch)
        post(page, batch, "approval", reason="harmless")
        batch.refresh_from_db()
        assert batch.state == "review"
        root = other(client, User.objects.create_superuser("root1"))
        address = reverse("review-approval", args=[batch.public_id])
        html = root.get(address).content.decode()
        assert "2 of 5 judged are bad. The plan allows no bad one." in html
        assert 'name="reason" rows="3" required' in html
        root.post(address, {"reason": " "})
        batch.refresh_from_db()
        assert batch.state == "review"
        answer = root.post(address, {"reason": "known and harmless"}, follow=True)
        html = answer.content.decode()
        assert "<b>against the sample</b>: 2 of 5 were bad. The plan allows no bad one" in html
        assert "known and harmless" in html

    def test_a_rejection_needs_a_reason_and_says_what_follows(
        self, page: Client, batch: Batch
    ) -> None:
        address = reverse("review-rejection", args=[batch.public_id])
        html = page.get(address).content.decode()
        assert "None of its 20 results leaves." in html
        assert "Only an operator or an administrator may send items again." in html
        page.post(address, {"reason": " "})
        batch.refresh_from_db()
        assert batch.state == "review"
        html = page.post(address, {"reason": "Off the point."}, follow=True).content.decode()
        assert "Off the point." in html
        assert "refused the results" in html
        assert "Nothing drawn was judged before the decision, so the sample proves nothing." in html
        assert "If all 5 pass" not in html

    @pytest.mark.parametrize(("rerun", "count"), [("bad", 3), ("all", 6)])
    @pytest.mark.parametrize("number", [1, 2])
    def test_what_is_sent_again_is_chosen_with_its_version(
        self, page: Client, reviewer: User, rerun: str, count: int, number: int
    ) -> None:
        reviewer.groups.add(Group.objects.get_or_create(name=Role.OPERATOR)[0])
        batch = in_review(6, bad=2)
        new_version(batch.version)
        batch.judge(keys(batch)[0], "fail", "wrong")
        html = page.get(reverse("review-rejection", args=[batch.public_id])).content.decode()
        assert "The bad ones: 3 items" in html
        assert "v2, the newest" in html
        post(page, batch, "rejection", reason="Off.", rerun=rerun, version=str(number))
        again = batch.reruns.get()
        assert (again.total, again.version.number) == (count, number)
        assert f"{count} items sent again" in text(page, batch)


class TestRights:
    @pytest.mark.parametrize("name", ACTING)
    def test_who_may_only_look_is_refused(self, client: Client, batch: Batch, name: str) -> None:
        viewer = other(client, member("viewer1", Role.VIEWER))
        assert post(viewer, batch, name, item=keys(batch)[0], verdict="pass").status_code == 403
        assert batch.open_review.judged == 0

    def test_they_see_the_page_and_why_they_cannot_judge(
        self, client: Client, batch: Batch
    ) -> None:
        html = text(other(client, member("viewer1", Role.VIEWER)), batch)
        assert "Only a reviewer or an administrator may judge." in html
        assert "Only a reviewer or an administrator may approve or reject." in html
        for gone in ('value="pass"', 'id="reservation"', "Draw 5 more", "review/rejection"):
            assert gone not in html

    @pytest.mark.parametrize("name", ["reservation", "verdict", "retraction", "draw"])
    def test_reading_an_address_does_nothing(self, page: Client, batch: Batch, name: str) -> None:
        assert page.get(reverse(f"review-{name}", args=[batch.public_id])).status_code == 405

    def test_a_batch_that_is_not_there_is_not_found(self, page: Client) -> None:
        assert page.get("/batches/b_nothing/review/").status_code == 404
