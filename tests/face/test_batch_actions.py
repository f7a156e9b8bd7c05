"""What people do on the page of a batch: many items at once, its limits, comments, downloads."""

import ast
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import AsyncClient, Client
from django.urls import reverse

from batchboard.models import Answer, Attempt, Batch, Comment, User
from batchboard.views.activity import WORDS
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def viewer(db: None, client: Client) -> Client:
    """Somebody who may look and no more."""
    other = Client()
    other.force_login(User.objects.create_user("viewer1"))
    return other


@pytest.fixture
def batch(make_batch: MakeBatch) -> Batch:
    return make_batch("running", succeeded=2, dead=3, waiting=4)


def post(
    page: Client, name: str, batch: Batch, query: str = "", data: Any = None, **how: Any
) -> Any:
    return page.post(reverse(name, args=[batch.public_id]) + query, data or {}, **how)


def items(batch: Batch, state: str) -> list[int]:
    return list(batch.items.filter(state=state).order_by("position").values_list("pk", flat=True))


class TestManyItems:
    def test_buttons_name_how_many(self, page: Client, batch: Batch) -> None:
        text = page.get(f"/batches/{batch.public_id}/").content.decode()
        assert "Send 3 again" in text
        assert "Cancel 4 waiting" in text
        text = page.get(f"/batches/{batch.public_id}/?find=item-002").content.decode()
        assert "Send 1 again" in text

    def test_all_that_the_filter_finds_is_sent_again(self, page: Client, batch: Batch) -> None:
        batch.items.filter(position=2).update(outcome="refused")
        answer = post(page, "batch-second-try", batch, "?state=dead&outcome=contract")
        assert answer["Location"].endswith("?state=dead&outcome=contract")
        assert len(items(batch, "dead")) == 1

    def test_of_selected_items_only_those_are(self, page: Client, batch: Batch) -> None:
        chosen = items(batch, "dead")[:2]
        post(page, "batch-second-try", batch, "?selected", {"item": chosen})
        assert len(items(batch, "dead")) == 1

    def test_a_button_elsewhere_on_the_page_ignores_the_selection(
        self, page: Client, batch: Batch
    ) -> None:
        post(page, "batch-second-try", batch, "?state=dead", {"item": items(batch, "dead")[:1]})
        assert items(batch, "dead") == []

    def test_waiting_items_are_cancelled(self, page: Client, batch: Batch) -> None:
        chosen = items(batch, "waiting")[:1] + items(batch, "succeeded")
        answer = post(page, "item-cancellation", batch, "?selected", {"item": chosen}, follow=True)
        assert "1 item is cancelled." in answer.content.decode()
        assert len(items(batch, "cancelled")) == 1
        assert len(items(batch, "succeeded")) == 2

    def test_items_of_another_batch_are_out_of_reach(
        self, page: Client, batch: Batch, make_batch: MakeBatch
    ) -> None:
        other = make_batch("running", waiting=2)
        chosen = items(other, "waiting")
        post(page, "item-cancellation", batch, "?selected", {"item": [*chosen, "x", "9" * 30]})
        assert len(items(other, "waiting")) == 2

    def test_who_may_only_look_is_told_who_may(self, viewer: Client, batch: Batch) -> None:
        answer = post(viewer, "item-cancellation", batch)
        assert answer.status_code == 403
        assert "Only an operator or an administrator may" in answer.content.decode()
        text = viewer.get(f"/batches/{batch.public_id}/").content.decode()
        assert "Cancel 4 waiting" not in text
        assert "data-settings" not in text


class TestSettings:
    GOOD = {"budget": "2.5", "concurrency": "7", "priority": "1", "deadline": "1.5"}

    def test_they_are_changed(self, page: Client, batch: Batch) -> None:
        answer = post(page, "batch-settings", batch, data=self.GOOD)
        assert answer["Location"] == f"/batches/{batch.public_id}/"
        batch.refresh_from_db()
        assert (batch.budget, batch.concurrency, batch.priority, batch.deadline) == (
            Decimal("2.5"), 7, 1, 90,
        )  # fmt: skip
        assert (
            "changed the budget from none to $2.50, N from none to 7"
            in page.get(f"/batches/{batch.public_id}/").content.decode()
        )

    def test_what_is_wrong_stands_at_its_field(self, page: Client, batch: Batch) -> None:
        data = self.GOOD | {"concurrency": "0", "budget": "much"}
        text = post(page, "batch-settings", batch, data=data, **HTMX).content.decode()
        assert "Enter a number." in text
        assert "<html" not in text
        data = self.GOOD | {"concurrency": "0"}
        text = post(page, "batch-settings", batch, data=data).content.decode()
        assert "This must be a whole number from 1 to 10,000" in text
        assert 'aria-invalid="true"' in text

    def test_the_form_starts_from_what_holds(self, page: Client, make_batch: MakeBatch) -> None:
        batch = make_batch("running", waiting=1, budget=Decimal("20"), deadline=90)
        text = page.get(reverse("batch-settings", args=[batch.public_id])).content.decode()
        assert 'value="20"' in text
        assert 'value="1.5"' in text

    def test_who_may_only_look_may_not(self, viewer: Client, batch: Batch) -> None:
        assert post(viewer, "batch-settings", batch, data=self.GOOD).status_code == 403


class TestComments:
    def test_it_is_kept_with_who_wrote_it(self, page: Client, batch: Batch) -> None:
        answer = post(page, "batch-comments", batch, data={"text": " Same list?\r\nYes. "})
        assert answer["Location"].endswith("#activity")
        text = page.get(f"/batches/{batch.public_id}/").content.decode()
        assert "<b>Mara Voss</b>" in text
        assert "Same list?\nYes." in text

    def test_it_is_shown_as_text(self, page: Client, batch: Batch) -> None:
        post(page, "batch-comments", batch, data={"text": "<script>alert(1)</script>\u202e"})
        text = page.get(f"/batches/{batch.public_id}/").content.decode()
        assert "&lt;script&gt;alert(1)&lt;/script&gt;⟨U+202E⟩" in text

    @pytest.mark.parametrize(("text", "says"), [("  ", "is empty"), ("x" * 5_001, "5,000 fit")])
    def test_one_that_cannot_be_is_refused(
        self, page: Client, batch: Batch, text: str, says: str
    ) -> None:
        answer = post(page, "batch-comments", batch, data={"text": text}, **HTMX)
        assert answer.status_code == 422
        assert says in answer.content.decode()
        assert not Comment.objects.exists()


class TestDownloads:
    @pytest.fixture
    def released(self, make_batch: MakeBatch) -> Batch:
        batch = make_batch("released", succeeded=2)
        for attempt in Attempt.objects.filter(batch=batch):
            Answer.objects.create(attempt=attempt, text="=1+1")
            batch.items.filter(pk=attempt.item_id).update(result=attempt)
        return batch

    @pytest.mark.parametrize("state", ["running", "review", "approved", "rejected", "cancelled"])
    @pytest.mark.parametrize("format_", ["csv", "jsonl", "xlsx"])
    def test_nothing_leaves_before_release(
        self, page: Client, make_batch: MakeBatch, state: str, format_: str
    ) -> None:
        batch = make_batch(state, succeeded=2)
        address = reverse("batch-export", args=[batch.public_id, format_])
        answer = page.get(address, follow=True)
        assert "its results leave only after a person approved them" in answer.content.decode()
        assert "attachment" not in str(answer.headers)
        assert address not in page.get(f"/batches/{batch.public_id}/").content.decode()

    def test_a_file_is_sent_and_on_record(
        self, page: Client, released: Batch, person: User
    ) -> None:
        assert "Not exported yet" in page.get(f"/batches/{released.public_id}/").content.decode()
        answer = page.get(reverse("batch-export", args=[released.public_id, "csv"]))
        assert answer["Content-Disposition"].endswith(f'{released.public_id}.csv"')
        assert "'=1+1" in answer.getvalue().decode()
        event = released.events.get(verb="results.exported")
        assert (event.actor, event.detail["count"]) == (person, 2)
        text = page.get(f"/batches/{released.public_id}/").content.decode()
        assert "Exported as CSV by Mara Voss" in text
        assert "exported 2 results as CSV" in text

    def test_an_unknown_format_is_not_found(self, page: Client, released: Batch) -> None:
        assert page.get(f"/batches/{released.public_id}/export.html").status_code == 404


@pytest.mark.django_db(transaction=True)
async def _streamed(client: AsyncClient, address: str) -> bytes:
    answer = await client.get(address)
    return b"".join([piece async for piece in answer.streaming_content])


@pytest.mark.django_db(transaction=True)
def test_the_web_server_streams_a_file_piece_by_piece(make_batch: MakeBatch, person: User) -> None:
    from asgiref.sync import async_to_sync

    batch = make_batch("released", succeeded=1)
    attempt = Attempt.objects.get(batch=batch)
    Answer.objects.create(attempt=attempt, text="yes")
    batch.items.update(result=attempt)
    client = AsyncClient()
    client.force_login(person)
    address = reverse("batch-export", args=[batch.public_id, "jsonl"])
    assert json.loads(async_to_sync(_streamed)(client, address))["output"] == "yes"


def test_every_event_of_a_batch_has_words() -> None:
    recorded = set()
    for path in (Path(settings.BASE_DIR) / "batchboard").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "record":
                recorded |= {
                    leaf.value for leaf in ast.walk(node.args[0])
                    if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)
                    and leaf.value.split(".")[0] in {"batch", "items", "review", "results"}
                }  # fmt: skip
    assert {"batch.changed", "results.exported"} <= recorded
    assert {verb for verb in recorded if not verb.endswith(".")} <= set(WORDS)
