"""Pages of what recurs, running a batch again, and the same from the command line."""

import io
import json
import sys
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.utils import timezone

from batchboard import repeating
from batchboard.models import Batch, Recurring, RunOptions, TaskVersion, Upload, User
from dispatch import forecast
from tests.face.conftest import MakeBatch

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def counts(monkeypatch: Any) -> None:
    """The provider is not asked, and no broker is there."""
    monkeypatch.setattr(forecast, "count", lambda *_: forecast.Counted(40, 100, 30))
    monkeypatch.setattr("dispatch.intake_tasks.nudge", lambda: None)


@pytest.fixture
def commands(settings: Any, tmp_path: Any) -> None:
    path = tmp_path / "commands.json"
    path.write_text(json.dumps({"tickets": [sys.executable, "-c", "print('x\\n1')"]}))
    settings.ITEM_COMMANDS = str(path)


def weekly(version: TaskVersion, by: User | None = None, **values: Any) -> Recurring:
    if not {"source_batch", "command", "upload"} & values.keys():
        values["upload"] = Upload.objects.receive("list.csv", [b"x\none\ntwo\n"], by)
    given = {"name": "Weekly scan", "cron": "0 9 * * 1", "zone": "Europe/Berlin"} | values
    return Recurring.objects.make(
        RunOptions(budget=Decimal(2)), by, task_type=version.task_type, **given
    )


def filled(version: TaskVersion, **fields: Any) -> dict[str, Any]:
    return {
        "name": "Weekly scan",
        "task": f"newest:{version.task_type_id}",
        "source": "upload",
        "file": SimpleUploadedFile("list.csv", b"x\none\ntwo\n"),
        "cron": "0 9 * * 1",
        "zone": "Europe/Berlin",
        "budget": "$2.00",
        "mode": "single",
        "schedule": "window",
        "priority": "high",
    } | fields


def text_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.status_code
    return answer.content.decode()


class TestPages:
    def test_the_empty_list_teaches(self, page: Client) -> None:
        text = text_of(page, "/recurring/")
        assert "Nothing recurs yet" in text
        assert "Mondays at 09:00" in text
        assert 'href="/recurring/new/"' in text

    def test_the_list_says_when_in_words_and_what_comes_next(
        self, page: Client, version: TaskVersion
    ) -> None:
        recurring = weekly(version)
        text = text_of(page, "/recurring/")
        assert "Mondays at 09:00 Europe/Berlin" in text
        assert recurring.times.here(recurring.next_at) in text  # type: ignore[arg-type]
        assert "never ran" in text

    def test_the_list_takes_the_same_queries_for_any_number(
        self, page: Client, version: TaskVersion, django_assert_max_num_queries: Any
    ) -> None:
        for n in range(12):
            weekly(version, name=f"Scan {n}").run_now()
        with django_assert_max_num_queries(20):
            text_of(page, "/recurring/")

    def test_one_shows_its_times_its_policy_and_its_history_with_costs(
        self, page: Client, version: TaskVersion, person: User
    ) -> None:
        recurring = weekly(version, person)
        assert "The first time is" in text_of(page, f"/recurring/{recurring.public_id}/")
        recurring.run_now(by=person)
        assert "Being made" in text_of(page, f"/recurring/{recurring.public_id}/")
        assert repeating.make_one()
        Batch.objects.update(cost=Decimal("0.42"), estimate_expected=Decimal("0.5"))
        text = text_of(page, f"/recurring/{recurring.public_id}/")
        assert "asked for by Mara Voss" in text
        assert "$0.42" in text
        assert "of est. $0.50" in text
        assert "made up for once" in text
        assert text.count("<li>Mon, ") == 5
        batch = Batch.objects.get()
        assert "recurs as" in text_of(page, f"/batches/{batch.public_id}/")

    def test_a_failed_run_says_what_was_wrong_and_what_to_do(
        self, page: Client, version: TaskVersion
    ) -> None:
        upload = Upload.objects.receive("<b>.csv", [b"y\none\n"], None)
        recurring = weekly(version, upload=upload, name="<script>x</script>")
        recurring.run_now()
        assert repeating.make_one()
        text = text_of(page, f"/recurring/{recurring.public_id}/")
        assert "The last run made no batch" in text
        assert "no column &quot;x&quot;" in text
        assert "<script>x" not in text

    def test_times_are_said_while_they_are_typed(self, page: Client) -> None:
        text = text_of(page, "/recurring/times?cron=*/15+*+*+*+*&zone=UTC")
        assert "Every 15 minutes UTC" in text
        assert "no such time zone" in text_of(page, "/recurring/times?cron=0+9+*+*+1&zone=Mars")
        assert "Five fields" in text_of(page, "/recurring/times?cron=<b>&zone=UTC")


class TestMaking:
    def test_it_is_made_of_a_file(self, page: Client, version: TaskVersion, person: User) -> None:
        answer = page.post("/recurring/new/", filled(version))
        made = Recurring.objects.get()
        assert answer["Location"] == f"/recurring/{made.public_id}/"
        assert (made.owner, made.version, made.budget) == (person, None, Decimal(2))
        assert (made.mode, made.priority, made.upload.name) == ("single", 1, "list.csv")  # type: ignore[union-attr]

    def test_a_batch_is_repeated_with_its_options_filled_in(
        self, page: Client, make_batch: MakeBatch, version: TaskVersion
    ) -> None:
        batch = make_batch("released", succeeded=3, budget=Decimal("1.5"), concurrency=4)
        address = f"/recurring/new/?batch={batch.public_id}"
        assert f'href="{address}"' in text_of(page, f"/batches/{batch.public_id}/")
        text = text_of(page, address)
        assert 'value="Ticket triage"' in text
        assert 'value="1.50"' in text
        page.post("/recurring/new/", filled(
            version, source="batch", batch_id=batch.public_id, file="", concurrency="4"
        ))  # fmt: skip
        made = Recurring.objects.get()
        assert (made.source_batch, made.upload, made.concurrency) == (batch, None, 4)

    @pytest.mark.parametrize(
        ("fields", "says"),
        [
            ({"budget": ""}, "or say that it has none"),
            ({"no_budget": "on"}, "not both"),
            ({"budget": "-1"}, "amount in dollars"),
            ({"cron": "often"}, "Five fields"),
            ({"cron": "0 9 31 2 *"}, "never occurs"),
            ({"zone": ""}, "no such time zone"),
            ({"name": ""}, "Give it a name"),
            ({"task": ""}, "Choose a task type"),
            ({"task": "fixed:999"}, "Choose a task type"),
            ({"task": "newest:٣"}, "Choose a task type"),
            ({"file": ""}, "Choose a file"),
            ({"source": "batch", "batch_id": "b_none"}, "no such batch"),
            ({"source": "url"}, "Say where the items come from"),
            ({"source": "command", "command": "rm"}, "No command is named"),
            ({"concurrency": "many"}, "whole number"),
            ({"item_timeout": "soon"}, "length of time"),
        ],
    )
    def test_what_is_wrong_is_said_and_what_was_typed_stays(
        self, client: Client, admin: User, version: TaskVersion, fields: dict[str, Any], says: str
    ) -> None:
        client.force_login(admin)
        answer = client.post("/recurring/new/", filled(version) | fields)
        assert answer.status_code == 422
        text = answer.content.decode()
        assert says in text
        assert "nothing that you typed is lost" in text
        assert not Recurring.objects.exists()

    def test_a_file_that_came_is_not_lost_by_what_else_is_wrong(
        self, page: Client, version: TaskVersion
    ) -> None:
        text = page.post("/recurring/new/", filled(version, cron="often")).content.decode()
        upload = Upload.objects.get()
        assert f'name="file_id" value="{upload.public_id}"' in text
        page.post("/recurring/new/", filled(version, file="", file_id=upload.public_id))
        assert Recurring.objects.get().upload == upload

    def test_nobody_takes_the_file_of_somebody_else(
        self, page: Client, version: TaskVersion, admin: User
    ) -> None:
        theirs = Upload.objects.receive("secret.csv", [b"x\n1\n"], admin)
        answer = page.post("/recurring/new/", filled(version, file="", file_id=theirs.public_id))
        assert answer.status_code == 422
        assert "secret.csv" not in answer.content.decode()

    def test_no_budget_is_a_choice(self, page: Client, version: TaskVersion) -> None:
        page.post("/recurring/new/", filled(version, budget="", no_budget="on"))
        made = Recurring.objects.get()
        assert made.budget is None
        assert "none, by choice" in text_of(page, f"/recurring/{made.public_id}/")

    def test_an_edit_keeps_what_it_does_not_show(
        self, page: Client, version: TaskVersion, person: User
    ) -> None:
        made = weekly(version)
        Recurring.objects.update(allowed_bad=3, priority=7)
        address = f"/recurring/{made.public_id}/edit"
        assert 'value="0 9 * * 1"' in text_of(page, address)
        answer = page.post(address, filled(
            version, file="", file_id=made.upload.public_id, name="Scan",  # type: ignore[union-attr]
            task=f"fixed:{version.pk}", budget="3",
        ))  # fmt: skip
        assert answer.status_code == 302
        made.refresh_from_db()
        assert (made.name, made.version, made.budget, made.owner) == (
            "Scan", version, Decimal(3), person
        )  # fmt: skip
        assert (made.allowed_bad, made.priority) == (3, 7)


class TestActing:
    @pytest.mark.parametrize("action", ["pause", "resumption", "run", "deletion", "edit", "../new"])
    def test_who_looks_only_may_not(
        self, client: Client, viewer: User, version: TaskVersion, action: str
    ) -> None:
        made = weekly(version)
        client.force_login(viewer)
        address = f"/recurring/{made.public_id}/{action}" if action != "../new" \
            else "/recurring/new/"  # fmt: skip
        answer = client.post(address, filled(version))
        assert answer.status_code == 403
        made.refresh_from_db()
        assert (made.enabled, made.runs.count(), Recurring.objects.count()) == (True, 0, 1)

    def test_who_looks_only_sees_it_without_buttons(
        self, client: Client, viewer: User, version: TaskVersion
    ) -> None:
        made = weekly(version)
        client.force_login(viewer)
        text = text_of(client, f"/recurring/{made.public_id}/")
        assert "Weekly scan" in text
        assert "formaction" not in text.partition("<main")[2].partition("</main")[0]

    @pytest.mark.parametrize("action", ["pause", "resumption", "run", "deletion"])
    def test_nothing_is_done_by_looking(
        self, page: Client, version: TaskVersion, action: str
    ) -> None:
        made = weekly(version)
        assert page.get(f"/recurring/{made.public_id}/{action}").status_code == 405

    def test_a_request_without_its_token_is_refused(
        self, person: User, version: TaskVersion, make_batch: MakeBatch
    ) -> None:
        made, batch = weekly(version), make_batch("draft", waiting=1)
        forged = Client(enforce_csrf_checks=True)
        forged.force_login(person)
        for address in (f"/recurring/{made.public_id}/deletion", "/recurring/new/",
                        f"/batches/{batch.public_id}/clones"):  # fmt: skip
            assert forged.post(address).status_code == 403
        assert (Recurring.objects.count(), Batch.objects.count()) == (1, 1)

    def test_pause_resume_run_and_delete(self, page: Client, version: TaskVersion) -> None:
        made = weekly(version)
        address = f"/recurring/{made.public_id}/"
        page.post(f"{address}pause")
        assert "Paused" in text_of(page, address)
        page.post(f"{address}resumption")
        page.post(f"{address}run")
        assert made.runs.count() == 1
        again = page.post(f"{address}run", follow=True).content.decode()
        assert "is being run already" in again
        assert made.runs.count() == 1
        assert page.post(f"{address}deletion")["Location"] == "/recurring/"
        assert not Recurring.objects.exists()

    def test_a_command_is_an_administrators(
        self, client: Client, page: Client, admin: User, version: TaskVersion, commands: None
    ) -> None:
        given = filled(version, source="command", command="tickets", file="")
        assert page.post("/recurring/new/", given).status_code == 403
        assert 'value="command"' not in text_of(page, "/recurring/new/")
        client.force_login(admin)
        assert 'value="command"' in text_of(client, "/recurring/new/")
        assert client.post("/recurring/new/", given).status_code == 302
        made = Recurring.objects.get()
        page.force_login(User.objects.get(username="mara"))
        assert page.post(f"/recurring/{made.public_id}/run").status_code == 403
        assert page.get(f"/recurring/{made.public_id}/edit").status_code == 403
        assert "Only an administrator may" in text_of(page, f"/recurring/{made.public_id}/")


class TestAgain:
    def test_a_batch_is_run_again_from_its_menu(
        self, page: Client, make_batch: MakeBatch, person: User
    ) -> None:
        batch = make_batch("released", succeeded=2, dead=1)
        text = text_of(page, f"/batches/{batch.public_id}/")
        assert f'action="/batches/{batch.public_id}/clones"' in text
        answer = page.post(f"/batches/{batch.public_id}/clones", {"name": "Once more"})
        made = Batch.objects.get(clone_of=batch)
        assert answer["Location"] == f"/batches/{made.public_id}/"
        assert (made.name, made.state, made.total, made.owner) == ("Once more", "draft", 3, person)
        assert made.estimate_expected
        assert "run again from" in text_of(page, f"/batches/{made.public_id}/")

    def test_it_can_start_at_once(self, page: Client, make_batch: MakeBatch) -> None:
        batch = make_batch("released", succeeded=2)
        page.post(f"/batches/{batch.public_id}/clones", {"start": "1", "version": "same"})
        assert Batch.objects.get(clone_of=batch).state == "queued"

    def test_items_that_do_not_fit_are_told_of(self, page: Client, make_batch: MakeBatch) -> None:
        batch = make_batch("released", succeeded=1)
        TaskVersion.objects.create(
            task_type=batch.version.task_type, number=2, digest="e",
            model=batch.version.model, prompt="{{ price }}", max_tokens=100,
        )  # fmt: skip
        answer = page.post(f"/batches/{batch.public_id}/clones", follow=True)
        assert "names price" in answer.content.decode()
        assert Batch.objects.count() == 1

    def test_who_looks_only_is_not_offered_it(
        self, client: Client, viewer: User, make_batch: MakeBatch
    ) -> None:
        batch = make_batch("released", succeeded=1)
        client.force_login(viewer)
        text = text_of(client, f"/batches/{batch.public_id}/")
        assert "Run again" not in text
        assert "Repeat this batch" not in text


class TestCommandLine:
    def call(self, capsys: Any, *arguments: str) -> Any:
        call_command("recurring", *arguments, "--json")
        return json.loads(capsys.readouterr().out)

    def test_the_whole_life(
        self, capsys: Any, version: TaskVersion, tmp_path: Any, person: User
    ) -> None:
        items = tmp_path / "list.csv"
        items.write_text("x\none\n")
        made = self.call(capsys, "add", "--items", str(items), "--task-type", "Ticket triage",
                         "--cron", "0 9 * * 1", "--zone", "Europe/Berlin",
                         "--budget", "2")  # fmt: skip
        assert made["when"] == "Mondays at 09:00 Europe/Berlin"
        assert (made["budget_usd"], made["version"], made["enabled"]) == (2.0, "newest", True)
        identity = made["id"]
        assert self.call(capsys, "pause", identity)["enabled"] is False
        assert self.call(capsys, "resume", identity)["enabled"] is True
        assert self.call(capsys, "run", identity)["last_run"]["state"] == "waiting"
        assert repeating.make_one()
        (listed,) = self.call(capsys, "list")
        assert listed["last_run"]["batch"] == Batch.objects.get().public_id
        assert self.call(capsys, "remove", identity)["id"] == identity
        assert self.call(capsys, "list") == []

    def test_a_budget_or_none_must_be_said(self, version: TaskVersion, tmp_path: Any) -> None:
        given = ["add", "--items", "x.csv", "--task-type", "Ticket triage", "--cron", "0 9 * * 1"]
        with pytest.raises(CommandError, match="--budget --no-budget is required"):
            call_command("recurring", *given)

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["pause", "r_none"], "There is no such"),
            (["add", "--command", "rm", "--task-type", "Ticket triage", "--cron", "0 9 * * 1",
              "--no-budget"], "No command is named"),
            (["add", "--command", "rm", "--task-type", "None", "--cron", "0 9 * * 1",
              "--no-budget"], "There is no task type"),
            (["add", "--items", "/nowhere.csv", "--task-type", "Ticket triage", "--cron",
              "0 9 * * 1", "--no-budget"], "There is no file"),
        ],
    )  # fmt: skip
    def test_bad_input_makes_nothing(
        self, version: TaskVersion, arguments: list[str], says: str
    ) -> None:
        with pytest.raises(CommandError, match=says) as refused:
            call_command("recurring", *arguments, stdout=io.StringIO())
        assert refused.value.returncode == 2
        assert not Recurring.objects.exists()

    def test_a_batch_is_cloned(self, capsys: Any, make_batch: MakeBatch) -> None:
        batch = make_batch("released", succeeded=2)
        call_command("batch", "clone", batch.public_id, "--name", "Once more", "--json")
        result = json.loads(capsys.readouterr().out)
        assert (result["clone_of"], result["state"], result["name"], result["items"]) == (
            batch.public_id, "draft", "Once more", 2
        )  # fmt: skip
        call_command("batch", "clone", batch.public_id, "--task-version", "same", "--start",
                     "--json")  # fmt: skip
        assert json.loads(capsys.readouterr().out)["state"] == "queued"


def test_a_time_in_the_past_is_not_shown_as_next(version: TaskVersion) -> None:
    recurring = weekly(version)
    assert recurring.next_at > timezone.now()  # type: ignore[operator]
    assert recurring.next_at < timezone.now() + timedelta(days=8)  # type: ignore[operator]
