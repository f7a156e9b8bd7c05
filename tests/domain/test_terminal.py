"""What the command line shows of names and answers steers no terminal."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from batchboard.cli import commands
from batchboard.cli.terminal import Terminal, printable
from batchboard.models import Batch, Item
from batchboard.supervisor.example import FOLDER
from tests.factories import draft, in_review, judge_all

pytestmark = pytest.mark.django_db
EVIL = "[/red]\x1b]0;mine\x07\x1b[2J\u202egpj.exe\r\x9b31m"


@pytest.fixture(autouse=True)
def _announced(announced):
    """Nothing is sent to Redis."""


def said(*arguments):
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        call_command("batch", *arguments)
    return out.getvalue()


def assert_harmless(text):
    assert "[/red]\\x1b]0;mine" in text, "it is shown"
    assert not set(text) & set("\x1b\x07\x9b\u202e\r")


def test_a_name_that_steers_a_terminal_is_spelled_out_in_the_list_and_breaks_nothing():
    draft(name=EVIL)
    assert_harmless(said("list"))


def test_an_answer_and_an_input_are_spelled_out_in_the_review():
    batch = in_review(items=3)
    Batch.objects.filter(pk=batch.pk).update(name=EVIL)
    batch.version.__class__.objects.update(check_list=[EVIL])
    for drawn in batch.sample():
        batch.judge(drawn["key"], "fail", EVIL)
    text = said("review", batch.public_id)
    assert_harmless(text)
    assert "note: [/red]" in text


def test_a_problem_is_spelled_out_among_the_dead():
    batch = in_review(items=3, bad=1)
    Item.objects.filter(batch=batch, state="dead").update(problem=EVIL)
    assert_harmless(said("show", batch.public_id))


def test_a_refusal_says_where_the_batch_is():
    with pytest.raises(CommandError, match="is in review: pause is possible only from"):
        said("pause", in_review(items=3).public_id)


def test_a_refusal_spells_out_the_name():
    batch = draft(name=EVIL)
    with pytest.raises(CommandError) as refused:
        said("approve", batch.public_id)
    assert not set(str(refused.value)) & set("\x1b\x07\u202e")


def test_a_terminal_takes_brackets_for_what_they_are():
    out = io.StringIO()
    with redirect_stdout(out):
        Terminal(soft_wrap=True).print("[bold]x[/] :smile: [Batch]")
    assert out.getvalue() == "[bold]x[/] :smile: [Batch]\n"


def test_line_breaks_and_tabs_stay():
    assert printable("a\n\tb\x00") == "a\n\tb\\x00"


def test_ctrl_c_ends_the_watching_and_not_the_batch(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "watch", interrupted)
    told = io.StringIO()
    with redirect_stderr(told), pytest.raises(SystemExit) as ended:
        call_command(
            "batch", "run", str(FOLDER / "tickets.csv"), "--task-type",
            str(FOLDER / "ticket-triage.toml"), "--wait",
        )  # fmt: skip
    batch = Batch.objects.get()
    assert (ended.value.code, batch.state) == (130, "queued")
    assert f"{batch.public_id} goes on" in told.getvalue()


def test_the_ledger_is_the_same_for_people_and_for_machines():
    batch = in_review(items=3)
    head, *lines = said("ledger", batch.public_id).splitlines()
    rows = json.loads(said("ledger", batch.public_id, "--json"))
    assert list(rows[0]) == head.split(",")
    assert [row["item"] for row in rows] == [line.split(",")[0] for line in lines]
    assert sum(row["cost_usd"] for row in rows) == pytest.approx(float(batch.cost))


def test_an_export_to_a_file_is_told_in_words_or_in_json(tmp_path):
    batch = in_review(items=3)
    judge_all(batch)
    batch.approve()
    path = str(tmp_path / "results.jsonl")
    assert "3 results written" in said("export", batch.public_id, "-o", path)
    told = json.loads(said("export", batch.public_id, "-o", path, "--json"))
    assert told == {"results": 3, "file": path}
