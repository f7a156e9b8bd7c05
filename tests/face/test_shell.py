"""What is on every page: the bar of limits, the search, the keys, and pages for what went wrong."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from batchboard.models import Attempt, Batch, Limits, ModelLimit, Sample, User, Worker
from batchboard.views.limits_bar import current_bar
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db
MODEL = "claude-haiku-4-5-20251001"


def sample(seconds_ago: float, model: str = MODEL, **counts: int) -> None:
    at = timezone.now() - timedelta(seconds=seconds_ago)
    Sample.objects.create(seconds=10, at=at, model=model, **counts)


class TestUseOfTheLastMinute:
    def test_samples_count_by_their_share_of_the_minute(self, person: User) -> None:
        sample(5, requests=100)
        sample(55, requests=100)
        sample(61, requests=100)
        (requests, *_) = current_bar().rates
        assert requests.used == pytest.approx(150, abs=5)

    def test_what_ended_since_the_newest_sample_counts_at_once(self, make_batch: MakeBatch) -> None:
        make_batch("running", succeeded=4, waiting=1)
        before = timezone.now() - timedelta(seconds=3)
        Limits.objects.update(sampled_at=before, sampled_from=0)
        Attempt.objects.update(input_tokens=10, output_tokens=7, cache_write_5m_tokens=None)
        used = {rate.name: rate.used for rate in current_bar().rates}
        assert used == {"rpm": 4, "itpm": 40, "otpm": 28}

    def test_the_model_nearest_to_the_limit_that_binds_is_shown(self, person: User) -> None:
        ModelLimit.objects.create(model="claude-a", rpm=100)
        sample(5, "claude-a", requests=70, output_tokens=1)
        sample(5, "claude-b", requests=80, output_tokens=200_000)
        Limits.objects.update(rpm=1_000, otpm=400_000, headroom=1.0, binds="otpm")
        assert current_bar().model == "claude-b"
        Limits.objects.update(binds="rpm")
        bar = current_bar()
        assert bar.model == "claude-a"
        assert [rate.binds for rate in bar.rates] == [True, False, False]
        assert bar.rates[0].share == 70

    def test_an_idle_installation_shows_what_is_allowed(self, page: Client) -> None:
        Limits.objects.update(rpm=1_000, itpm=2_000_000, headroom=0.8)
        text = page.get("/limits/").content.decode()
        assert '<span class="figure">0</span> / 800' in text
        assert '<span class="figure">0</span> / 1.60M' in text

    def test_queries_are_fixed(self, make_batch: MakeBatch, django_assert_num_queries: Any) -> None:
        for n in range(20):
            sample(n, f"claude-{n}", requests=1)
            ModelLimit.objects.create(model=f"claude-{n}")
        make_batch("running", running=5)
        Limits.objects.update(sampled_at=timezone.now())
        with django_assert_num_queries(8):
            current_bar()


class TestWorkers:
    def test_those_that_live_are_told_of_those_that_were_there(
        self, page: Client, worker: Worker
    ) -> None:
        def shown() -> str:
            text = page.get("/board/limits").content.decode()
            return re.search(r"<dt>Workers</dt>\s*<dd>(.*?)<span class=\"sign", text, re.S)[1]

        assert shown() == '<span class="figure">1</span> alive'
        other = Worker.objects.create(
            node="calls2@here", host="here", pid=2, consumed_at=timezone.now(), fenced=True,
            lease_until=timezone.now() - timedelta(minutes=1),
        )  # fmt: skip
        assert shown() == '<span class="figure">1</span> of 2 alive'
        again = Worker.objects.create(
            node="calls2@here", host="here", pid=3, consumed_at=timezone.now(),
            lease_until=timezone.now() + timedelta(seconds=15),
        )  # fmt: skip
        assert shown() == '<span class="figure">2</span> alive'
        again.delete()
        Worker.objects.filter(pk=other.pk).update(lease_until=timezone.now() - timedelta(hours=1))
        assert shown() == '<span class="figure">1</span> alive'


@pytest.mark.parametrize("address", ["/", "/limits/", "/task-types/", "/account/", "/search/"])
def test_the_bar_and_the_one_stream_are_on_every_page(page: Client, address: str) -> None:
    text = page.get(address).content.decode()
    assert text.count('<section class="limits-bar" id="limits"') == 1
    assert text.count("sse-connect=") == 1


class TestSearch:
    def test_finds_batches_by_name_and_id_and_items_by_the_beginning_of_their_key(
        self, page: Client, make_batch: MakeBatch
    ) -> None:
        scan = make_batch("running", keys=["crm-1", "erp-1"], name="Scan of June")
        make_batch("running", keys=["crm-2"], name="Other")
        text = page.get("/search/?q=of+jun").content.decode()
        assert f'href="/batches/{scan.public_id}/"' in text
        assert "Running" in text
        by_id = page.get(f"/search/?q={scan.public_id}").content.decode()
        assert f'href="/batches/{scan.public_id}/"' in by_id
        items = page.get("/search/?q=crm").content.decode()
        assert f'href="/batches/{scan.public_id}/items/crm-1"' in items
        assert "crm-2" in items
        assert "erp-1" not in items

    def test_the_list_under_the_field_is_only_the_list(
        self, page: Client, make_batch: MakeBatch
    ) -> None:
        make_batch("running", keys=["<b>x"], name="<script>")
        text = page.get("/search/?q=%3C", headers={"HX-Request": "true"}).content.decode()
        assert "<html" not in text
        assert text.count('role="option"') == 2
        assert "&lt;script&gt;" in text
        assert "<b>x" not in text

    def test_nothing_found_is_said(self, page: Client) -> None:
        assert "No batch has “<bdi>zzz</bdi>”" in page.get("/search/?q=zzz").content.decode()

    def test_it_asks_at_most_once_for_each_item_shown_however_many_there_are(
        self, page: Client, make_batch: MakeBatch, django_assert_max_num_queries: Any
    ) -> None:
        for n in range(20):
            make_batch("running", keys=[f"key-{n}"], name=f"key {n}")
        with django_assert_max_num_queries(10):
            page.get("/search/?q=key", headers={"HX-Request": "true"})

    def test_items_come_from_the_newest_batches_first_by_their_keys(
        self, page: Client, make_batch: MakeBatch
    ) -> None:
        make_batch("running", keys=["key-1", "key-0"])
        make_batch("running", keys=["other"])
        make_batch("running", keys=["key-4", "key-3", "key-2"])
        text = page.get("/search/?q=key-", headers={"HX-Request": "true"}).content.decode()
        found = re.findall(r'/items/([^"]+)"', text)
        assert found == ["key-2", "key-3", "key-4", "key-0", "key-1"]


class TestRights:
    def test_who_may_not_make_a_batch_sees_why(self, client: Client, viewer: User) -> None:
        client.force_login(viewer)
        text = client.get("/").content.decode()
        assert "Only an operator or an administrator may make a batch." in text
        assert 'data-key="c"' not in text

    def test_only_administrators_are_led_to_people(
        self, client: Client, viewer: User, admin: User
    ) -> None:
        for user, shown in ((viewer, False), (admin, True)):
            client.force_login(user)
            assert ('data-go="p"' in client.get("/").content.decode()) == shown

    def test_a_viewers_card_cannot_be_dragged_and_says_who_may_pause(
        self, client: Client, viewer: User, make_batch: MakeBatch
    ) -> None:
        make_batch("running", waiting=3)
        client.force_login(viewer)
        text = client.get("/").content.decode()
        assert 'draggable="true"' not in text
        assert "Only an operator or an administrator may pause or resume" in text


class TestPagesForWhatWentWrong:
    def test_nothing_there(self, page: Client) -> None:
        answer = page.get("/nothing-here/")
        assert answer.status_code == 404
        assert "Nothing is at this address" in answer.content.decode()

    def test_something_broke(self, page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object, **__: object) -> None:
            raise RuntimeError("broken")

        monkeypatch.setattr("batchboard.views.search.hits", broken)
        page.raise_request_exception = False
        answer = page.get("/search/?q=x")
        assert answer.status_code == 500
        assert "Something broke here" in answer.content.decode()

    def test_the_database_is_away(self, page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        def away(*_: object, **__: object) -> None:
            raise OperationalError("disk full, says password=secret")

        monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.load", away)
        page.raise_request_exception = False
        answer = page.get("/")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
        assert "The database does not answer" in answer.content.decode()
        assert "secret" not in answer.content.decode()

    def test_a_page_too_old_to_act(self, person: User, make_batch: MakeBatch) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(person)
        batch: Batch = make_batch("draft", waiting=3)
        answer = client.post(f"/batches/{batch.public_id}/run")
        assert answer.status_code == 403
        assert "too old to act" in answer.content.decode()


def test_each_card_offers_what_helps_it(page: Client, make_batch: MakeBatch) -> None:
    budget = make_batch("running", waiting=3, blocked="budget", started_at=timezone.now())
    review = make_batch("review", succeeded=3)
    text = page.get("/").content.decode()
    assert f'href="/batches/{budget.public_id}/settings" draggable="false">Raise the budget' in text
    assert f'href="/batches/{review.public_id}/review/" draggable="false">' in text


def test_pages_are_sent_compressed_and_the_stream_is_not(client: Client, person: User) -> None:
    client.force_login(person)
    asked = {"Accept-Encoding": "gzip"}
    assert client.get("/", headers=asked)["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in client.get("/live", headers=asked)
