"""The page of one item: what went in, what came back, every try; hostile text stays text."""

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from batchboard.models import Answer, Attempt, Batch, User
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db
FRAGMENT = {"HTTP_HX_REQUEST": "true"}


def answered(batch: Batch, text: str, position: int = 0) -> Attempt:
    item = batch.items.get(position=position)
    attempt = Attempt.objects.filter(item=item).latest("id")
    Answer.objects.create(attempt=attempt, text=text, stop_reason="end_turn")
    if item.state == "succeeded":
        batch.items.filter(pk=item.pk).update(result=attempt)
    return attempt


def shown(page: Client, batch: Batch, key: str = "item-000", query: str = "", **how: Any) -> str:
    return page.get(reverse("item", args=[batch.public_id, key]) + query, **how).content.decode()


def test_it_shows_input_prompt_and_output(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("review", succeeded=2)
    answered(batch, "the answer")
    text = shown(page, batch)
    for part in ("the answer", "Rendered prompt", "item-000", "Its answer is the result."):
        assert part in text


@pytest.mark.parametrize(("state", "mark"), [("review", "Not released"), ("released", "Released")])
def test_an_output_says_whether_it_is_released(
    page: Client, make_batch: MakeBatch, state: str, mark: str
) -> None:
    batch = make_batch(state, succeeded=2)
    answered(batch, "the answer")
    assert mark in shown(page, batch)


def test_the_drawer_gets_the_markup_of_the_page(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("review", succeeded=2)
    whole, fragment = shown(page, batch), shown(page, batch, **FRAGMENT)
    assert fragment.strip() in whole
    assert "<html" not in fragment
    response = page.get(reverse("item", args=[batch.public_id, "item-000"]))
    assert "HX-Request" in response["Vary"]


def test_a_dead_item_is_sent_again_from_where_it_is_looked_at(
    page: Client, make_batch: MakeBatch
) -> None:
    batch = make_batch("review", dead=2)
    dead = batch.items.get(key="item-000")
    address = f"{reverse('batch-second-try', args=[batch.public_id])}?state=dead&amp;item={dead.pk}"
    assert f'formaction="{address}"' in shown(page, batch, query="?state=dead")
    page.post(address.replace("&amp;", "&"))
    assert dict(batch.items.values_list("key", "state")) == {
        "item-000": "waiting",
        "item-001": "dead",
    }
    assert "Send again" not in shown(page, batch)


def test_nobody_is_offered_to_send_what_cannot_be_sent(
    page: Client, make_batch: MakeBatch, viewer: User
) -> None:
    assert "Send again" not in shown(page, make_batch("rejected", dead=1))
    page.force_login(viewer)
    assert "Send again" not in shown(page, make_batch("review", dead=1))


def test_every_try_says_where_it_led(page: Client, make_batch: MakeBatch, worker: Any) -> None:
    batch = make_batch("running", dead=1, waiting=1)
    item = batch.items.get(position=0)
    first = Attempt.objects.get(item=item)
    began = first.ended_at + timedelta(seconds=2)
    Attempt.objects.create(
        item=item, batch=batch, worker=worker, model="m", mode="cached", call=99, max_tokens=200,
        reserved=0, granted_at=began, started_at=began, ended_at=began, outcome="contract",
        request_id="req_7", cost=None, input_tokens=5,
    )  # fmt: skip
    answered(batch, "{broken")
    text = shown(page, batch)
    assert text.index("Try 2") < text.index("Try 1")
    for part in (
        "Tried again after 2.0 s with more tokens.", "It became a dead letter", "req_7",
        "{broken", "unknown, at most",
    ):  # fmt: skip
        assert part in text


def test_an_answer_under_a_contract_is_shown_by_field(
    page: Client, make_batch: MakeBatch, version: Any
) -> None:
    type(version).objects.filter(pk=version.pk).update(contract={"type": "object"})
    batch = make_batch("review", succeeded=1)
    answered(batch, '{"label": "good", "nested": [1, 2]}')
    text = shown(page, batch)
    assert "<bdi>label</bdi>" in text
    assert "Raw answer" in text


def test_neighbours_keep_to_the_filter(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("running", succeeded=2, dead=2, waiting=2)
    text = shown(page, batch, "item-002", "?state=dead")
    assert "items/item-003?state=dead" in text
    assert 'rel="prev"' not in text
    assert "items/item-001" in shown(page, batch, "item-002")


@pytest.mark.parametrize("key", ["a/b", "what?#&", "東京", "line\nbreak", "<b>", "a%2Fb"])
def test_any_key_has_an_address(page: Client, make_batch: MakeBatch, key: str) -> None:
    batch = make_batch("draft", keys=[key])
    address = reverse("item", args=[batch.public_id, key])
    assert page.get(address).status_code == 200
    assert page.get(f"/batches/{batch.public_id}/").status_code == 200


@pytest.mark.parametrize("key", ["nothing", "%00"])
def test_what_is_not_there_is_not_found(page: Client, make_batch: MakeBatch, key: str) -> None:
    batch = make_batch("draft", waiting=1)
    assert page.get(f"/batches/{batch.public_id}/items/{key}").status_code == 404


def test_a_cell_of_the_bar_leads_to_its_item(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("running", waiting=3)
    answer = page.get(reverse("item-at", args=[batch.public_id, 2]))
    assert answer["Location"].endswith("/items/item-002")
    assert page.get(reverse("item-at", args=[batch.public_id, 9])).status_code == 404


def test_queries_do_not_grow_with_the_tries(
    page: Client, make_batch: MakeBatch, worker: Any, django_assert_max_num_queries: Any
) -> None:
    batch = make_batch("running", dead=1, waiting=2)
    item, now = batch.items.get(position=0), timezone.now()
    for number in range(10):
        attempt = Attempt.objects.create(
            item=item, batch=batch, worker=worker, model="m", mode="cached", call=100 + number,
            max_tokens=1, reserved=0, granted_at=now, ended_at=now, outcome="server",
        )  # fmt: skip
        Answer.objects.create(attempt=attempt, text="x")
    with django_assert_max_num_queries(16):
        shown(page, batch)


HOSTILE = [
    ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ('<img src=x onerror="x()">', "&lt;img src=x onerror=&quot;x()&quot;&gt;"),
    ("\x1b[31mred\x1b[0m", "⟨U+001B⟩[31mred⟨U+001B⟩[0m"),
    ("right \u202e tfel", "right ⟨U+202E⟩ tfel"),
    ("\u2066isolated\u2069", "⟨U+2066⟩isolated⟨U+2069⟩"),
    ("half \ufffd of it", "half \ufffd of it"),
    ("{{ settings.SECRET_KEY }}{% csrf_token %}", "{{ settings.SECRET_KEY }}{% csrf_token %}"),
    ("two\nlines\tand a tab", "two\nlines\tand a tab"),
]


@pytest.mark.parametrize(("text", "seen"), HOSTILE)
def test_hostile_text_is_shown_and_not_obeyed(
    page: Client, make_batch: MakeBatch, text: str, seen: str
) -> None:
    batch = make_batch("running", succeeded=1, dead=1, waiting=1)
    answered(batch, text)
    answered(batch, text, position=1)
    for item in batch.items.all():
        item.input.data = {"x": text, text[:50]: text}
        item.input.save()
    Attempt.objects.update(problem=text[:300], request_id=text[:100])
    for key in ("item-000", "item-001", "item-002"):
        found = shown(page, batch, key)
        assert seen in found
        assert "<script>alert" not in found
        assert "<img" not in found
        assert not set("\x1b\u202e\u2066\u2069") & set(found)


def test_a_long_text_is_cut_until_all_of_it_is_asked_for(
    page: Client, make_batch: MakeBatch
) -> None:
    batch = make_batch("review", succeeded=1)
    answered(batch, "x" * 1_000_000 + "THE END")
    short = shown(page, batch)
    assert len(short) < 60_000
    assert "The first 20,000 of 1,000,007 characters." in short
    assert "?all=output" in short
    assert "THE END" in shown(page, batch, query="?all=output")


def test_the_batch_page_itself_shows_no_answer(page: Client, make_batch: MakeBatch) -> None:
    batch = make_batch("review", succeeded=1)
    answered(batch, "the secret answer")
    assert "secret" not in page.get(f"/batches/{batch.public_id}/").content.decode()
    assert quote("secret") not in page.get(f"/batches/{batch.public_id}/live").content.decode()
