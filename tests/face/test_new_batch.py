"""The new-batch form: what it keeps, what it says, what it costs the database."""

import re
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpRequest
from django.test import Client

from batchboard import filing
from batchboard.models import Batch, Preparation, TaskVersion, Upload, User
from batchboard.models.preparation import new_preparation_id
from batchboard.views import new_batch
from dispatch import forecast, intake_tasks
from tests.at_once import at_once
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db
ROWS = b"ticket,text\n" + b"".join(b"T-%d,Where is it?\n" % n for n in range(30))
WRITTEN = {
    "task_type": "write",
    "key": "ticket",
    "d-name": "Triage",
    "d-model": "claude-haiku-5-5",
    "d-prompt": "Ticket {{ ticket }}: {{ text }}",
    "d-max_tokens": "100",
}
SUBMITTED = {"mode": "provider_batch"}
TOO_SLOW = {"concurrency": "1", "item_timeout": "10 s", "deadline": "15 s"}
AFTER_ANOTHER = SUBMITTED | {"concurrency": "10"}
Give = Callable[..., str]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither broker nor provider is asked."""
    monkeypatch.setattr(intake_tasks, "nudge", lambda: None)
    monkeypatch.setattr(forecast, "count", lambda *_: forecast.Counted(40, 100, 30))


@pytest.fixture
def page(client: Client, person: User) -> Client:
    person.groups.add(Group.objects.get_or_create(name="operator")[0])
    client.force_login(person)
    return client


@pytest.fixture
def give(page: Client) -> Give:
    """Give a file to a form, fill it, and let the file be read; returns the form's address."""

    def fill(content: bytes = ROWS, name: str = "tickets.csv", **fields: str) -> str:
        address = f"/new/{new_preparation_id()}/"
        page.post(f"{address}form", WRITTEN | fields)
        page.post(f"{address}items", {"file": SimpleUploadedFile(name, content)})
        filing.work_through()
        return address

    return fill


def text(page: Client, address: str) -> str:
    return re.sub(r"\s+", " ", page.get(address).content.decode())


def test_a_new_form_has_an_address_and_stores_nothing(page: Client) -> None:
    address = page.get("/new/").headers["Location"]
    assert page.get(address).status_code == 200
    assert not Preparation.objects.exists()


def test_what_was_typed_survives_a_reload(page: Client, give: Give) -> None:
    address = give(name="t.csv", deadline="90 min", concurrency="7")
    content = text(page, address)
    assert 'value="90 min"' in content
    assert 'value="7"' in content
    assert "Ticket {{ ticket }}: {{ text }}" in content
    assert "30 rows, 2 columns" in content


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"mode": "packed", "group_size": "7"}, {"group_size": 7}),
        (
            {"mode": "session", "group_size": "6", "session_timeout": "40 min"},
            {"group_size": 6, "session_timeout": 2_400},
        ),
    ],
)
def test_how_many_share_a_call_is_kept_and_made(
    page: Client, give: Give, fields: dict[str, str], options: dict[str, int]
) -> None:
    address = give(**fields)
    content = text(page, address)
    assert all(f'value="{value}"' in content for value in fields.values())
    page.post(f"{address}start", WRITTEN | fields | {"draft": ""})
    filing.work_through()
    assert Batch.objects.filter(**options).exists()


@pytest.mark.parametrize("field", ["group_size", "session_timeout"])
def test_what_is_wrong_with_a_group_is_said(page: Client, give: Give, field: str) -> None:
    content = text(page, give(mode="session", **{field: "many"}))
    assert "1 thing to fix" in content
    assert f'href="#f-{field}"' in content


def test_the_form_of_somebody_else_cannot_be_seen(page: Client, give: Give, client: Client) -> None:
    address = give()
    other = User.objects.create_user("operator2")
    other.groups.add(Group.objects.get(name="operator"))
    client.force_login(other)
    assert client.get(address).status_code == 404
    assert client.post(f"{address}start", {"start": ""}).status_code == 404


@pytest.mark.parametrize("path", ["", "form", "items", "start", "discard", "trial"])
def test_who_only_looks_is_told_who_may(client: Client, viewer: User, path: str) -> None:
    client.force_login(viewer)
    address = f"/new/{new_preparation_id()}/{path}"
    found = client.post(address) if path else client.get(address)
    assert found.status_code == 403
    assert "an operator or an administrator" in found.content.decode()
    assert not Preparation.objects.exists()


def test_the_first_prompt_is_shown_filled(page: Client, give: Give) -> None:
    content = text(page, give())
    assert "Ticket <mark>T-0</mark>: <mark>Where is it?</mark>" in content


def test_items_that_lack_what_the_prompt_names_are_neither_estimated_nor_tried(
    page: Client, give: Give
) -> None:
    content = text(page, give(b"ticket,body\nT-1,Where is it?\n"))
    assert "There is no column &quot;text&quot;" in content
    assert "Fix what is marked to see what a run costs" in content
    assert "Ticket {{ ticket }}: {{ text }}</pre>" in content
    assert "Try one item" not in content


def test_start_makes_the_batch_in_the_background(page: Client, give: Give) -> None:
    address = give()
    found = page.post(f"{address}start", WRITTEN | {"start": ""})
    assert found.headers["Location"] == address
    assert not Batch.objects.exists()
    assert "You can leave" in text(page, address)
    assert "Reading 30 rows" in text(page, "/")
    filing.work_through()
    batch = Batch.objects.get()
    assert (batch.state, batch.total) == ("queued", 30)
    assert page.get(address).headers["Location"] == f"/batches/{batch.public_id}/"
    assert page.get(f"{address}form").headers["HX-Redirect"] == f"/batches/{batch.public_id}/"


def test_a_draft_is_not_started(page: Client, give: Give) -> None:
    page.post(f"{give()}start", WRITTEN | {"draft": ""})
    filing.work_through()
    assert Batch.objects.get().state == "draft"


def test_starting_twice_makes_one_batch(page: Client, give: Give) -> None:
    address = give()
    for _ in range(2):
        page.post(f"{address}start", WRITTEN | {"start": ""})
    filing.work_through()
    page.post(f"{address}start", WRITTEN | {"start": ""})
    filing.work_through()
    assert Batch.objects.count() == 1


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    @pytest.fixture
    def both_looked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each request goes on only after the other has seen a form that may be started."""
        barrier, prepare = threading.Barrier(2, timeout=1), new_batch.prepare

        def prepared(preparation: Preparation) -> object:
            with suppress(threading.BrokenBarrierError):
                barrier.wait()
            return prepare(preparation)

        monkeypatch.setattr(new_batch, "prepare", prepared)

    def posted(self, person: User, address: str, **fields: str) -> Callable[[], int]:
        client = Client()
        client.force_login(person)
        return lambda: client.post(f"{address}start", WRITTEN | {"start": ""} | fields).status_code

    def test_two_starts_at_the_same_moment_make_one_batch(
        self, person: User, give: Give, both_looked: None
    ) -> None:
        address = give()
        one, other = self.posted(person, address), self.posted(person, address)
        assert at_once(one, other) == [302, 302]
        at_once(filing.work_through, filing.work_through)
        # A lock of SQLite's may have stopped the one at work: what it left is begun anew.
        Preparation.objects.update(lease_until=None)
        filing.work_through()
        batch = Batch.objects.get()
        assert (batch.state, batch.total) == ("queued", 30)

    def test_a_late_request_does_not_change_what_was_started(
        self, page: Client, person: User, give: Give, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        address, found = give(), new_batch.FORM.find

        def meanwhile(request: HttpRequest, public_id: str) -> Preparation:
            seen = found(request, public_id)
            monkeypatch.setattr(new_batch.FORM, "find", found)
            self.posted(person, address, name="As it was started")()
            return seen

        monkeypatch.setattr(new_batch.FORM, "find", meanwhile)
        page.post(f"{address}start", WRITTEN | {"name": "Too late", "start": ""})
        filing.work_through()
        assert Batch.objects.get().name == "As it was started"


def test_a_refused_start_keeps_everything_and_names_the_fields(page: Client, give: Give) -> None:
    address = give()
    wrong = WRITTEN | {"deadline": "soon", "d-prompt": "Look at {{ txet }}", "start": ""}
    found = page.post(f"{address}start", wrong)
    content = found.content.decode()
    assert found.status_code == 422
    assert 'value="soon"' in content
    assert "Look at {{ txet }}" in content
    assert "2 things to fix" in content
    assert "Did you mean" in content
    assert not Batch.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("budget", "a lot", "Give an amount in dollars"),
        ("concurrency", "0", "Give a whole number from 1 to 10,000"),
        ("item_timeout", "x", "Give a length of time"),
        ("d-max_tokens", "999999", "Use 128,000"),
        ("d-contract", '{"type": ', "Line 1, column"),
        ("d-contract", '{"type": "nothing"}', "type"),
        ("key", "text", "lines 2 and 3 both have"),
        ("key", "text", "Use ticket"),
    ],
)
def test_an_error_says_what_and_offers_what_works(
    page: Client, give: Give, field: str, value: str, says: str
) -> None:
    assert says in text(page, give(**{field: value})).replace("&quot;", '"')


@pytest.mark.parametrize(
    ("rows", "fields", "says"),
    [
        (30, {}, "This task type never ran."),
        (20, {}, None),
        (14, {}, "Under 15 items: batching gains little."),
        (30, {"deadline": "30 s", "item_timeout": "30 s"}, "The deadline is one item&#x27;s"),
        (30, {"deadline": "10 s"}, "The deadline is less than one item&#x27;s timeout."),
        (30, TOO_SLOW, "The deadline comes before the end."),
        (30, TOO_SLOW | {"deadline": "1 h", "first_look": "on"}, None),
        (30, AFTER_ANOTHER, "3 message batches, one after the other."),
        (20, SUBMITTED | {"concurrency": "20"}, None),
        (20, SUBMITTED | {"schedule": "waves"}, None),
        (30, SUBMITTED | {"deadline": "24 h"}, "The deadline may come before the results."),
        (20, SUBMITTED | {"deadline": "25 h"}, None),
    ],
)
def test_advice_comes_where_it_helps_and_never_blocks(
    page: Client, give: Give, rows: int, fields: dict[str, str], says: str | None
) -> None:
    content = text(page, give(b"\n".join(ROWS.split(b"\n")[: rows + 1]), **fields))
    if says is None:
        assert 'class="advice"' not in content
    else:
        assert says in content
    assert "to fix" not in content
    assert 'id="start"' in content
    assert "aria-disabled" not in content


def test_n_near_the_request_ceiling_is_advised_against(
    page: Client, give: Give, settings: object
) -> None:
    settings.DISPATCH_RPM = 60  # type: ignore[attr-defined]
    content = text(page, give())
    assert "request ceiling" in content
    assert 'data-fill="concurrency"' in content


def test_a_provider_batch_is_estimated_at_half_the_price_and_the_provider_s_own_time(
    page: Client, give: Give
) -> None:
    content = text(page, give(**SUBMITTED))
    assert "at half the price" in content
    assert "<b>~1 h</b>, up to 24 h" in content
    assert "the provider&#x27;s own time" in content or "the provider's own time" in content
    assert "25 h is enough even if the provider takes its whole day." in content
    assert "Requests at once, N" in content
    content = text(page, give(**AFTER_ANOTHER))
    assert "<b>~3 h</b>, up to 3 × 24 h" in content
    assert "75 h is enough" in content


def test_items_of_very_different_length_are_noticed(page: Client, give: Give) -> None:
    assert "Items differ in length." in text(page, give(ROWS + b"T-x," + b"long " * 400 + b"\n"))


def test_pasted_rows_are_items_as_well(page: Client) -> None:
    address = f"/new/{new_preparation_id()}/"
    page.post(f"{address}items", {"pasted": "a\tb\n1\t2\n"})
    filing.work_through()
    assert "1 row, 2 columns" in text(page, address)


def test_a_broken_file_is_explained_in_place(page: Client, give: Give) -> None:
    content = text(page, give('ticket,text\nT-1,"é\n'.encode("latin-1")))
    assert "is not UTF-8 text" in content
    assert "Cannot be used" in content


def test_another_file_replaces_the_first(page: Client, give: Give) -> None:
    address = give()
    page.post(f"{address}items", {"file": SimpleUploadedFile("b.jsonl", b'{"a": 1}\n')})
    assert Upload.objects.get().name == "b.jsonl"


def test_discarding_forgets_form_and_file(page: Client, give: Give) -> None:
    page.post(f"{give()}discard")
    assert not Preparation.objects.exists()
    assert not Upload.objects.exists()


def test_what_a_file_holds_is_text_and_never_markup(page: Client, give: Give) -> None:
    content = text(page, give(b"ticket,text\n<script>,\xe2\x80\xaeabc\n"))
    assert "<script>," not in content
    assert "<bdi><script>" not in content
    assert "⟨U+202E⟩" in content


def test_editing_a_chosen_task_type_starts_from_its_text(
    page: Client, give: Give, version: TaskVersion
) -> None:
    address = give(task_type=str(version.pk))
    page.post(f"{address}form", {"task_type": "write"})
    assert 'value="Ticket triage"' in text(page, address)


def test_one_item_is_tried_for_real_and_stays_off_the_board(
    page: Client, give: Give, make_batch: MakeBatch
) -> None:
    make_batch("draft", waiting=1)
    address = give()
    page.post(f"{address}trial", WRITTEN)
    batch = Batch.objects.get(trial=True)
    assert (batch.trial, batch.state, batch.total) == (True, "queued", 1)
    assert batch.items.get().input.data["ticket"] == "T-0"
    assert batch.public_id in text(page, address)
    assert batch.public_id not in text(page, "/")
    assert "Waits for its first call" in text(page, f"/trials/{batch.public_id}")


def test_the_form_asks_the_database_a_fixed_number_of_times(
    page: Client, give: Give, django_assert_max_num_queries: Callable[..., object]
) -> None:
    address = give(b"\n".join(ROWS.split(b"\n")[:20]))
    page.get(address)
    filing.work_through()
    with django_assert_max_num_queries(9):  # type: ignore[attr-defined]
        page.get(f"{address}form")


def test_a_file_that_comes_too_late_leaves_the_one_that_is_being_stored(
    give: Give, page: Client
) -> None:
    preparation = Preparation.objects.get(public_id=give().split("/")[2])
    Preparation.objects.filter(pk=preparation.pk).update(state="storing")
    late = Upload.objects.receive("late.csv", [ROWS], preparation.owner)
    assert not preparation.give(late, {})
    assert not Upload.objects.filter(pk=late.pk).exists(), "nobody asks for it"
    assert Preparation.objects.get().upload == preparation.upload
    assert preparation.upload is not None
    assert preparation.upload.chunks.exists()


def test_a_form_that_was_discarded_while_its_file_came_stays_discarded(
    give: Give, page: Client
) -> None:
    preparation = Preparation.objects.get(public_id=give().split("/")[2])
    Preparation.objects.all().delete()
    late = Upload.objects.receive("late.csv", [ROWS], preparation.owner)
    assert not preparation.give(late, {})
    assert not Preparation.objects.exists()


def test_a_form_that_is_becoming_a_batch_is_not_discarded(give: Give, page: Client) -> None:
    seen = Preparation.objects.get(public_id=give().split("/")[2])
    Preparation.objects.update(state="storing")
    assert not seen.discard(), "it was started since this tab read it"
    assert Preparation.objects.exists()
    assert Upload.objects.exists()
