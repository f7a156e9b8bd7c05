"""Task types: list, versions, differences, editing by several people, files, and trials."""

from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from batchboard.models import Batch, TaskType, TaskVersion, User, Worker
from batchboard.views.failures import said
from dispatch.outcome import ROUTES, Outcome
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db
FIELDS = {
    "d-name": "Ticket triage",
    "d-model": "claude-haiku-5-5",
    "d-prompt": "Look at {{ x }}",
    "d-max_tokens": "100",
    "d-system": "Line one\nLine two",
}


@pytest.fixture
def page(client: Client, person: User) -> Client:
    person.groups.add(Group.objects.get_or_create(name="operator")[0])
    client.force_login(person)
    return client


def test_the_list_says_what_each_was_used_for_and_cost(page: Client, make_batch: MakeBatch) -> None:
    make_batch("review", succeeded=3, dead=1, cost="0.08")
    make_batch("review", succeeded=1, cost="9", trial=True)
    content = page.get("/task-types/").content.decode()
    assert "Ticket triage" in content
    assert "$0.0200" in content


def test_a_never_used_type_has_no_cost(page: Client, version: TaskVersion) -> None:
    content = page.get("/task-types/").content.decode()
    assert "–" in content
    assert "never" in content


def test_an_edit_makes_a_new_version_and_shows_what_changed(
    page: Client, version: TaskVersion
) -> None:
    pk = version.task_type_id
    page.post(f"/task-types/{pk}/edit", FIELDS | {"base": "1"})
    page.post(f"/task-types/{pk}/edit", FIELDS | {"base": "2", "d-system": "Line one\nLine 2"})
    assert list(TaskVersion.objects.values_list("number", flat=True).order_by("number")) == [
        1,
        2,
        3,
    ]
    content = page.get(f"/task-types/{pk}/?from=2&to=3").content.decode()
    assert "removed: </span>Line two" in content
    assert "added: </span>Line 2" in content


def test_two_who_edit_the_same_version_lose_nothing(page: Client, version: TaskVersion) -> None:
    pk = version.task_type_id
    page.post(f"/task-types/{pk}/edit", FIELDS | {"base": "1", "d-system": "Theirs"})
    found = page.post(f"/task-types/{pk}/edit", FIELDS | {"base": "1", "d-system": "Mine"})
    content = found.content.decode()
    assert found.status_code == 409
    assert "made v2 while you were editing" in content
    assert ">Mine</textarea>" in content
    assert "removed: </span>Theirs" in content
    assert TaskVersion.objects.count() == 2
    page.post(f"/task-types/{pk}/edit", FIELDS | {"base": "2", "d-system": "Mine"})
    assert TaskVersion.objects.get(number=3).system == "Mine"


def test_saving_without_a_change_makes_no_version(page: Client, version: TaskVersion) -> None:
    pk = version.task_type_id
    for _ in range(2):
        page.post(f"/task-types/{pk}/edit", FIELDS | {"base": "1"})
    assert TaskVersion.objects.count() == 2


def test_a_new_type_of_a_name_that_exists_is_a_conflict(page: Client, version: TaskVersion) -> None:
    found = page.post("/task-types/new/", FIELDS | {"base": "0", "d-system": "Mine"})
    content = found.content.decode()
    assert found.status_code == 409
    assert "There is a task type of that name already" in content
    assert f'href="/task-types/{version.task_type_id}/edit"' in content
    assert "while you were editing" not in content
    assert ">Mine</textarea>" in content
    assert 'name="base" value="0"' in content
    assert TaskVersion.objects.count() == 1


def test_a_new_type_of_a_name_that_exists_is_told_while_one_types(
    page: Client, version: TaskVersion
) -> None:
    found = page.post("/task-types/new/", FIELDS, headers={"HX-Request": "true"})
    assert "There is a task type of that name already." in found.content.decode()
    assert 'aria-invalid="true"' in found.content.decode()


def test_what_cannot_be_used_is_refused_by_field_and_kept(page: Client) -> None:
    found = page.post("/task-types/new/", FIELDS | {"d-prompt": "No column", "d-max_tokens": "x"})
    content = found.content.decode()
    assert found.status_code == 422
    assert "2 things to fix" in content
    assert ">No column</textarea>" in content
    assert not TaskType.objects.exists()


def test_the_editor_checks_while_one_types(page: Client) -> None:
    fields = FIELDS | {"d-contract": "{"}
    found = page.post("/task-types/new/", fields, headers={"HX-Request": "true"})
    assert "this is not valid JSON" in found.content.decode()
    assert "<html" not in found.content.decode()
    assert not TaskType.objects.exists()


def test_a_version_goes_out_as_toml_and_comes_back(page: Client, version: TaskVersion) -> None:
    pk = version.task_type_id
    page.post(f"/task-types/{pk}/edit", FIELDS | {"base": "1", "d-contract": '{"type": "object"}'})
    out = page.get(f"/task-types/{pk}/v2.toml")
    assert "ticket-triage-v2.toml" in out.headers["Content-Disposition"]
    back = page.post("/task-types/file", {"toml": SimpleUploadedFile("t.toml", out.content)})
    content = back.content.decode()
    assert "Filled from t.toml" in content
    assert "Look at {{ x }}" in content
    assert "Line one\nLine two" in content


def test_a_broken_toml_file_says_where(page: Client) -> None:
    file = SimpleUploadedFile("t.toml", b'name = "a"\nmodel = [')
    found = page.post("/task-types/file", {"toml": file})
    assert found.status_code == 422
    assert "Nothing was stored" in found.content.decode()


def test_a_trial_runs_as_a_batch_of_one_and_shows_on_the_type_only(
    page: Client, version: TaskVersion
) -> None:
    pk = version.task_type_id
    page.post(f"/task-types/{pk}/trials", {"version": "1", "in-x": "a row"})
    batch = Batch.objects.get()
    assert (batch.trial, batch.state, batch.version) == (True, "queued", version)
    assert batch.items.get().input.data == {"x": "a row"}
    assert batch.public_id in page.get(f"/task-types/{pk}/").content.decode()
    assert batch.public_id not in page.get("/").content.decode()


def test_a_trial_says_what_it_waits_for(page: Client, version: TaskVersion, worker: Worker) -> None:
    page.post(f"/task-types/{version.task_type_id}/trials", {"version": "1", "in-x": "a row"})
    batch = Batch.objects.get()

    def shown(**columns: Any) -> str:
        Batch.objects.filter(pk=batch.pk).update(**columns)
        return page.get(f"/trials/{batch.public_id}").content.decode()

    assert "Waits: everything is paused" in shown(waits_for="paused_all")
    assert "Waits for requests per minute" in shown(waits_for="rpm")
    blocked = shown(blocked="key_refused", blocked_detail="401: no such key")
    assert "Blocked: the provider refused the key or the model" in blocked
    assert "401: no such key" in blocked
    Worker.objects.all().delete()
    assert "Waits for a worker: none takes work" in shown(blocked="", blocked_detail="")


def test_everybody_looks_and_only_operators_act(
    client: Client, viewer: User, version: TaskVersion
) -> None:
    client.force_login(viewer)
    pk = version.task_type_id
    assert client.get("/task-types/").status_code == 200
    assert client.get(f"/task-types/{pk}/").status_code == 200
    for path in ("new/", f"{pk}/edit", f"{pk}/trials", "file"):
        assert client.post(f"/task-types/{path}", FIELDS).status_code == 403
    assert TaskVersion.objects.count() == 1
    assert not Batch.objects.exists()


def test_pages_ask_the_database_a_fixed_number_of_times(
    page: Client, make_batch: MakeBatch, django_assert_max_num_queries: object
) -> None:
    for number in range(30):
        make_batch("review", succeeded=1)
        kind = TaskType.objects.create(name=f"Kind {number}")
        TaskVersion.objects.create(
            task_type=kind, number=1, digest="d", model="claude-haiku-5-5", prompt="{{ x }}",
            max_tokens=1,
        )  # fmt: skip
    with django_assert_max_num_queries(13):  # type: ignore[operator]
        page.get("/task-types/")
    busy = TaskType.objects.get(name="Ticket triage")
    for number in range(2, 6):
        TaskVersion.objects.create(
            task_type=busy, number=number, digest="d", model="claude-haiku-5-5", prompt="{{ x }}",
            max_tokens=1,
        )  # fmt: skip
        make_batch("review", succeeded=1, trial=True)
    with django_assert_max_num_queries(17):  # type: ignore[operator]
        page.get(f"/task-types/{busy.pk}/")


UNENFORCED = (
    '{"type": "object", "properties": {"title": {"type": "string", "maxLength": 60}}}',
    "The provider does not enforce maxLength (at /properties/title)",
)


def test_a_contract_that_the_provider_enforces_in_part_is_stored_with_advice(
    page: Client, version: TaskVersion
) -> None:
    pk, (contract, note) = version.task_type_id, UNENFORCED
    answer = page.post(
        f"/task-types/{pk}/edit", FIELDS | {"base": "1", "d-contract": contract}, follow=True
    )
    assert TaskVersion.objects.latest("id").contract == {
        "type": "object",
        "properties": {"title": {"type": "string", "maxLength": 60}},
    }
    assert any(note in str(message) for message in answer.context["messages"])
    assert note in answer.content.decode()


def test_the_editor_says_it_while_the_contract_is_typed(page: Client) -> None:
    contract, note = UNENFORCED
    heard = {"HX-Request": "true"}
    said = page.post("/task-types/new/", FIELDS | {"d-contract": contract}, headers=heard)
    assert note in said.content.decode()
    broken = page.post("/task-types/new/", FIELDS | {"d-contract": "{"}, headers=heard)
    assert "contract-advice" not in broken.content.decode()


def test_its_page_says_of_every_outcome_where_it_sends_an_item(
    page: Client, version: TaskVersion
) -> None:
    content = page.get(f"/task-types/{version.task_type_id}/").content.decode()
    table = unescape(content.partition('id="routing"')[2].partition("</section>")[0]).lower()
    for outcome in set(Outcome) - {Outcome.OK}:
        assert said(outcome) in table
        assert ROUTES[outcome].says.lower() in table
