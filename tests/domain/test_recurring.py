"""What recurs is made once for each time that came, by whom may, and never half."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection

from batchboard import filing, item_commands, repeating, rows
from batchboard.models import Batch, Event, Recurring, RecurringRun, RunOptions, Upload
from batchboard.models.changing import NotPossible
from batchboard.roles import NotAllowed, Role
from batchboard.states import MoveRefused
from dispatch import forecast
from tests.at_once import at_once
from tests.factories import draft, new_version, person, states, task_version

pytestmark = pytest.mark.django_db
SATURDAY = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MONDAY = datetime(2026, 11, 23, 8, 0, tzinfo=UTC)
WEEK = timedelta(days=7)


@pytest.fixture(autouse=True)
def counts(monkeypatch):
    """The provider is not asked."""
    monkeypatch.setattr(forecast, "count", lambda *_: forecast.Counted(40, 100, 30))


def stored_file(content=b"id,text\na,one\nb,two\n", name="items.csv"):
    return Upload.objects.receive(name, [content], None)


def weekly(by=None, version=None, **values):
    """Mondays at 09:00 in Berlin, of a stored file of two rows unless told otherwise."""
    version = version or task_version()
    if not {"upload", "source_batch", "command"} & values.keys():
        values["upload"] = stored_file()
    defaults = {"name": "Weekly scan", "task_type": version.task_type, "cron": "0 9 * * 1",
                "zone": "Europe/Berlin"}  # fmt: skip
    options = RunOptions(mode="single", budget=Decimal("2.5"), priority=3)
    return Recurring.objects.make(options, by, **(defaults | values))


def fired(recurring, now=MONDAY):
    """Its time comes, and what follows is done; returns the newest run."""
    Recurring.objects.fire_due(now)
    while repeating.make_one():
        pass
    recurring.refresh_from_db()
    return recurring.runs.first()


class TestTimes:
    def test_it_begins_with_the_next_time(self, clock):
        assert weekly().next_at == MONDAY

    def test_a_time_that_came_is_taken_once(self, clock):
        recurring = weekly()
        assert Recurring.objects.fire_due(MONDAY - timedelta(seconds=1)) == 0
        assert Recurring.objects.fire_due(MONDAY) == 1
        assert Recurring.objects.fire_due(MONDAY) == 0
        recurring.refresh_from_db()
        assert recurring.next_at == MONDAY + WEEK
        assert [run.due_at for run in recurring.runs.all()] == [MONDAY]

    def test_a_beat_that_saw_it_before_another_took_it_does_nothing(self, clock):
        recurring = weekly()
        late = Recurring.objects.get(pk=recurring.pk)
        assert recurring.fire(MONDAY)
        assert not late.fire(MONDAY)
        assert recurring.runs.count() == 1

    def test_after_three_missed_periods_it_runs_once(self, clock):
        recurring = weekly()
        run = fired(recurring, MONDAY + 3 * WEEK + timedelta(hours=2))
        assert recurring.runs.count() == recurring.batches.count() == 1
        assert run.state == "started"
        assert recurring.next_at == MONDAY + 4 * WEEK

    def test_what_is_paused_does_not_run_and_goes_on_from_now(self, clock):
        recurring = weekly()
        recurring.pause()
        assert Recurring.objects.fire_due(MONDAY + WEEK) == 0
        clock.advance(3 * WEEK.total_seconds())
        recurring.resume()
        assert recurring.next_at == MONDAY + 3 * WEEK
        with pytest.raises(MoveRefused, match="is on already"):
            recurring.resume()

    def test_another_time_holds_at_once(self, clock):
        recurring = weekly()
        assert recurring.change(cron="0 10 * * *", zone="UTC") == ["cron", "zone"]
        assert recurring.next_at == datetime(2026, 11, 22, 10, tzinfo=UTC)

    def test_one_whose_zone_is_gone_stops_and_holds_up_no_other(self, clock):
        gone, other = weekly(), weekly()
        Recurring.objects.filter(pk=gone.pk).update(zone="Europe/Atlantis")
        assert Recurring.objects.fire_due(MONDAY) == 1
        gone.refresh_from_db()
        assert (gone.enabled, other.runs.count()) == (False, 1)
        assert "time zone" in gone.stopped_because


class TestRuns:
    def test_a_run_is_a_started_batch_with_an_estimate_and_its_own_budget(self, clock):
        recurring = weekly()
        batch = fired(recurring).batch
        assert (batch.state, batch.total, batch.name) == (
            "queued", 2, "[Batch] Weekly scan: Nov 23, 09:00"
        )  # fmt: skip
        assert (batch.budget, batch.priority, batch.mode) == (Decimal("2.5"), 3, "single")
        assert batch.estimate_expected > 0
        assert list(batch.items.order_by("position").values_list("key", flat=True)) == ["a", "b"]
        assert batch.recurring_run.recurring == recurring

    def test_it_takes_the_newest_version_or_the_one_that_is_fixed(self, clock):
        old = task_version()
        follows, fixed = weekly(version=old), weekly(version=old)
        fixed.change(version_id=old.pk)
        new = new_version(old, max_tokens=50)
        fired(follows)
        assert follows.batches.get().version == new
        assert fixed.batches.get().version == old
        assert old.task_type.versions.count() == 2

    def test_items_of_another_batch_keep_their_keys(self, clock):
        source = draft(3)
        recurring = weekly(version=source.version, source_batch=source)
        batch = fired(recurring).batch
        assert states(batch) == {"waiting": 3}
        assert set(batch.items.values_list("key", flat=True)) == {"k0", "k1", "k2"}

    def test_it_is_skipped_with_its_reason_while_the_one_before_is_not_done(self, clock):
        recurring = weekly()
        first = fired(recurring).batch
        run = fired(recurring, MONDAY + WEEK)
        assert (run.state, run.batch) == ("skipped", None)
        assert run.problem == "[Batch] Weekly scan: Nov 23, 09:00 was still queued."
        assert recurring.batches.get() == first
        first.cancel()
        assert fired(recurring, MONDAY + 2 * WEEK).state == "started"

    def test_while_one_is_being_made_another_is_skipped(self, clock):
        recurring = weekly()
        Recurring.objects.fire_due(MONDAY)
        RecurringRun.objects.update(lease_until=rows.now() + timedelta(seconds=20))
        run = fired(recurring, MONDAY + WEEK)
        assert (run.state, run.problem) == ("skipped", "The run before it was still being made.")

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (b"id,other\na,one\n", 'no column "text"'),
            (b"", ""),
            (b"id,text\na,one\na,two\n", '"a"'),
        ],
    )
    def test_items_that_cannot_be_used_leave_nothing_but_what_was_wrong(self, clock, content, says):
        recurring = weekly(upload=stored_file(content))
        run = fired(recurring)
        assert run.state == "failed"
        assert says in run.problem
        assert run.hint
        assert not Batch.objects.exists()
        assert recurring.enabled
        assert recurring.next_at == MONDAY + WEEK

    def test_what_nobody_expected_is_not_tried_for_ever(self, clock, monkeypatch):
        recurring = weekly()
        monkeypatch.setattr(forecast, "forecast", lambda *_: 1 / 0)
        assert fired(recurring).state == "failed"
        assert not repeating.make_one()
        assert not Batch.objects.exists()

    def test_a_run_whose_worker_died_is_made_anew_once(self, clock):
        recurring = weekly()
        Recurring.objects.fire_due(MONDAY)
        RecurringRun.objects.update(lease_until=rows.now() + timedelta(seconds=20))
        assert not repeating.make_one()
        clock.advance(21)
        assert filing.work_through()
        assert recurring.batches.count() == 1

    def test_what_was_taken_over_leaves_one_batch(self, clock, monkeypatch):
        recurring = weekly()
        Recurring.objects.fire_due(MONDAY)
        create = repeating.intake.create

        def slow(*args, **named):
            batch = create(*args, **named)
            RecurringRun.objects.update(lease_until=rows.now() + timedelta(seconds=99))
            return batch

        monkeypatch.setattr(repeating.intake, "create", slow)
        assert repeating.make_one()
        assert not Batch.objects.exists()
        assert recurring.runs.get().state == "waiting"

    def test_its_file_is_kept_and_cleared_away_after_it_is_deleted(self, clock):
        recurring = weekly()
        upload = recurring.upload
        clock.advance(30 * 24 * 3600)
        filing._clean(rows.now())
        assert Upload.objects.filter(pk=upload.pk).exists()
        batch = fired(recurring, rows.now()).batch
        recurring.remove()
        filing._clean(rows.now())
        assert not Upload.objects.exists()
        assert Batch.objects.get() == batch


class TestPeople:
    def test_who_looks_only_may_do_nothing(self, clock):
        recurring, viewer = weekly(), person(roles=[Role.VIEWER, Role.REVIEWER])
        with pytest.raises(NotAllowed):
            weekly(by=viewer)
        for verb in ("pause", "resume", "run_now", "remove", "change"):
            with pytest.raises(NotAllowed):
                getattr(recurring, verb)(by=viewer)
        recurring.refresh_from_db()
        assert (recurring.enabled, recurring.runs.count()) == (True, 0)

    def test_batches_are_started_by_who_saved_it_last(self, clock):
        ada, ben = person("Ada"), person("Ben")
        recurring = weekly(by=ada)
        recurring.change(by=ben, name="Weekly")
        batch = fired(recurring).batch
        assert batch.owner == batch.started_by == ben

    def test_run_now_is_by_who_asks(self, clock):
        ada, ben = person("Ada"), person("Ben")
        recurring = weekly(by=ada)
        recurring.run_now(by=ben)
        assert repeating.make_one()
        assert recurring.batches.get().started_by == ben
        with pytest.raises(MoveRefused, match="is still queued"):
            recurring.run_now(by=ben)
        recurring.refresh_from_db()
        assert recurring.next_at == MONDAY

    def test_it_is_run_now_once(self, clock):
        recurring = weekly()
        recurring.run_now()
        with pytest.raises(MoveRefused, match="being run already"):
            recurring.run_now()

    @pytest.mark.parametrize("how", ["role", "account"])
    def test_it_stops_with_the_reason_once_its_owner_may_no_longer(self, clock, how):
        ada, ben = person("Ada"), person("Ben")
        recurring = weekly(by=ada)
        if how == "role":
            ada.groups.clear()
        else:
            ada.switch_off()
        run = fired(recurring)
        assert run.state == "failed"
        assert not Batch.objects.exists()
        assert not recurring.enabled
        assert "may no longer start it" in recurring.stopped_because
        recurring.resume(by=ben)
        assert (recurring.enabled, recurring.owner, recurring.stopped_because) == (True, ben, "")

    def test_every_change_is_told(self, clock):
        ada = person("Ada")
        recurring = weekly(by=ada)
        recurring.change(by=ada, name="Weekly")
        recurring.pause(by=ada)
        recurring.resume(by=ada)
        recurring.remove(by=ada)
        told = Event.objects.filter(verb__startswith="recurring.").order_by("id")
        assert [event.verb.partition(".")[2] for event in told] == [
            "made", "changed", "paused", "resumed", "removed"
        ]  # fmt: skip
        assert {event.actor for event in told} == {ada}


class TestValues:
    @pytest.mark.parametrize(
        ("values", "field"),
        [
            ({"name": " "}, "name"),
            ({"name": "x" * 151}, "name"),
            ({"cron": "now and then"}, "cron"),
            ({"zone": "Mars"}, "zone"),
            ({"upload": None}, "source"),
            ({"command": "tickets"}, "source"),
        ],
    )
    def test_what_cannot_be_is_refused(self, clock, values, field):
        with pytest.raises(NotPossible) as refused:
            weekly(**{"upload": stored_file()} | values)
        assert refused.value.field == field
        assert not Recurring.objects.exists()

    def test_a_version_of_another_task_type_is_refused(self, clock):
        with pytest.raises(NotPossible):
            weekly().change(version_id=task_version().pk)


class TestCommands:
    @pytest.fixture(params=["toml", "json"])
    def commands(self, request, settings, tmp_path):
        """Names commands, each a line of Python."""

        def name(**programs):
            path = tmp_path / f"commands.{request.param}"
            argvs = {one: [sys.executable, "-c", text] for one, text in programs.items()}
            if request.param == "json":
                path.write_text(json.dumps(argvs))
            else:
                path.write_text("\n".join(f"{n} = {json.dumps(argv)}" for n, argv in argvs.items()))
            settings.ITEM_COMMANDS = str(path)

        return name

    @pytest.fixture
    def admin(self):
        return person("Root", roles=[Role.ADMIN])

    def test_items_come_from_its_output(self, clock, commands, admin):
        commands(tickets="print('id,text\\na,one\\nb,two')")
        recurring = weekly(by=admin, command="tickets")
        assert fired(recurring).batch.total == 2

    def test_only_an_administrator_has_items_come_from_one(self, clock, commands, admin):
        commands(tickets="print('id,text')")
        ada = person("Ada")
        with pytest.raises(NotAllowed, match="from a command"):
            weekly(by=ada, command="tickets")
        plain = weekly(by=ada)
        with pytest.raises(NotAllowed, match="from a command"):
            plain.change(by=ada, upload=None, command="tickets")
        recurring = weekly(by=admin, command="tickets")
        for verb in ("run_now", "resume", "change"):
            with pytest.raises(NotAllowed):
                getattr(recurring, verb)(by=ada)

    def test_one_that_nobody_named_is_refused(self, clock, commands, admin):
        commands(tickets="pass")
        with pytest.raises(NotPossible):
            weekly(by=admin, command="rm -rf /")

    @pytest.mark.parametrize(
        ("program", "says"),
        [
            ("import sys; sys.exit('no such queue')", "exit status 1: no such queue"),
            ("print('id,text'); raise SystemExit(3)", "exit status 3"),
            ("import time; time.sleep(60)", "did not end within"),
            ("while True: print('x' * 1000)", "put out over"),
            ("pass", ""),
        ],
    )
    def test_one_that_fails_leaves_its_reason_and_no_batch(
        self, clock, commands, admin, monkeypatch, program, says
    ):
        monkeypatch.setattr(item_commands, "LIMIT_SECONDS", 2 if "time" in program else 20)
        monkeypatch.setattr(item_commands, "LIMIT_BYTES", 50_000)
        commands(tickets=program)
        run = fired(weekly(by=admin, command="tickets"))
        assert run.state == "failed"
        assert says in run.problem
        assert run.hint
        assert not Batch.objects.exists()

    def test_one_whose_program_is_missing_or_unnamed_since(self, clock, settings, tmp_path, admin):
        path = tmp_path / "commands.toml"
        settings.ITEM_COMMANDS = str(path)
        path.write_text('tickets = ["/nowhere/tickets"]')
        recurring = weekly(by=admin, command="tickets")
        assert "could not begin" in fired(recurring).problem
        path.write_text("")
        assert "no command “tickets” any more" in fired(recurring, MONDAY + WEEK).problem

    def test_it_sees_no_secret_and_no_shell(self, clock, settings, tmp_path, admin, monkeypatch):
        monkeypatch.setenv("SECRET_KEY", "hidden")
        path = tmp_path / "commands.json"
        program = "import os, sys; print('id,text\\n1,' + str(os.environ.get('SECRET_KEY')));" \
            " print('2,' + sys.argv[1])"  # fmt: skip
        path.write_text(json.dumps({"tickets": [sys.executable, "-c", program, "$HOME; ls"]}))
        settings.ITEM_COMMANDS = str(path)
        batch = fired(weekly(by=admin, command="tickets")).batch
        texts = [item.input.data["text"] for item in batch.items.order_by("position")]
        assert texts == ["None", "$HOME; ls"]

    def test_what_it_started_ends_with_it(self, clock, settings, tmp_path, admin, monkeypatch):
        monkeypatch.setattr(item_commands, "LIMIT_SECONDS", 1)
        path, mark = tmp_path / "commands.json", tmp_path / "pid"
        script = f"sleep 300 & echo $! > {mark}; wait"
        path.write_text(json.dumps({"tickets": ["/bin/sh", "-c", script]}))
        settings.ITEM_COMMANDS = str(path)
        assert "did not end" in fired(weekly(by=admin, command="tickets")).problem
        state = subprocess.run(["ps", "-o", "stat=", "-p", mark.read_text().strip()],
                               capture_output=True, text=True).stdout.strip()  # fmt: skip
        assert state == "" or state.startswith("Z")


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_of_many_beats_one_takes_each_time(self):
        recurring = weekly()
        found = at_once(*[lambda: Recurring.objects.fire_due(MONDAY + WEEK)] * 6)
        assert sorted(found) == [0] * 5 + [1]
        assert recurring.runs.count() == 1

    @pytest.mark.skipif(
        connection.vendor != "postgresql", reason="SQLite's test database is of one process"
    )
    def test_of_two_processes_one_makes_the_batch(self):
        recurring = weekly(upload=stored_file(b"id,text\n" + b"".join(
            b"k%d,row\n" % n for n in range(5_000)
        )))  # fmt: skip
        program = (
            "import django; django.setup()\n"
            "from datetime import datetime\n"
            "from batchboard import repeating\n"
            "from batchboard.models import Recurring\n"
            "from dispatch import forecast\n"
            "forecast.count = lambda *_: forecast.Counted(40, 100, 30)\n"
            f"print(Recurring.objects.fire_due(datetime.fromisoformat('{MONDAY + WEEK}')))\n"
            "while repeating.make_one(): pass\n"
        )
        parts = connection.settings_dict
        address = "postgres://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}".format(**parts)
        environment = os.environ | {
            "DATABASE_URL": address, "DJANGO_SETTINGS_MODULE": "batchboard.settings"
        }  # fmt: skip
        both = [
            subprocess.Popen([sys.executable, "-c", program], env=environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(2)
        ]  # fmt: skip
        said = [process.communicate(timeout=60) for process in both]
        assert sorted(out.strip() for out, _ in said) == ["0", "1"], said
        assert recurring.runs.count() == 1
        assert Batch.objects.get().total == 5_000
