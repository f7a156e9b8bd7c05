"""What cannot be used is refused with a clear line, exit status 2, and nothing created."""

import io
from contextlib import redirect_stdout

import pytest
from django.core.management import CommandError, call_command, execute_from_command_line

from batchboard.models import Batch, TaskType

pytestmark = pytest.mark.django_db(transaction=True)

TASK = 'name = "T"\nmodel = "claude-haiku-5-5"\nmax_tokens = 100\nprompt = "Say {{ text }}"\n'
GOOD = b"name,text\na,one\nb,two\n"


ITEMS = {
    "an empty file": (b"", "empty"),
    "a header only": (b"name,text\n", "header"),
    "a missing column": (b"name,body\na,one\n", "text"),
    "duplicate keys": (b"key,text\na,one\nb,two\na,three\n", "4"),
    "a cell of 20 MB": (b"name,text\na," + b"x" * 20_000_000 + b"\n", "1,000,000"),
    "another encoding": ("name,text\na,größer\n".encode("latin-1"), "UTF-8"),
    "UTF-16": ("name,text\na,one\n".encode("utf-16"), "UTF-16"),
    "NUL bytes": (b"name,text\na,o\x00ne\n", "NUL"),
    "a row with too many cells": (b"name,text\na,one,two\n", "2"),
    "an open quote": (b'name,text\na,"one\nb,two\n', "2"),
}


@pytest.mark.parametrize("case", ITEMS)
@pytest.mark.parametrize("verb", ["run", "estimate"])
def test_items_that_cannot_be_used(tmp_path, case, verb):
    content, says = ITEMS[case]
    refused(tmp_path, content, TASK, says, verb=verb)


def test_a_broken_line_of_jsonl_is_named(tmp_path):
    lines = b'{"text": "one"}\n{"text": "two"}\n{"text": "thr\n'
    refused(tmp_path, lines, TASK, "ine 3", name="items.jsonl")


TASKS = {
    "no TOML": ("name = ", "TOML"),
    "an unknown model": (TASK.replace("claude-haiku-5-5", "claude-hiaku-5-5"), "claude-hiaku-5-5"),
    "no prompt": (TASK.partition("prompt")[0], "prompt"),
    "a prompt that names no column": (TASK.replace("{{ text }}", "it"), "column"),
    "a contract that is no schema": (TASK + '[contract]\ntype = "objekt"\n', "contract"),
    "a contract with a remote $ref": (
        TASK + '[contract]\n"$ref" = "https://example.com/schema.json"\n', "$ref",
    ),
    "an unknown key": (TASK + 'temperatur = "1"\n', "temperatur"),
}  # fmt: skip


@pytest.mark.parametrize("case", TASKS)
def test_task_types_that_cannot_be_used(tmp_path, case):
    task, says = TASKS[case]
    refused(tmp_path, GOOD, task, says)


def test_files_that_are_not_there(tmp_path):
    (tmp_path / "task.toml").write_text(TASK)
    message = fails("batch", "run", "/nowhere.csv", "--task-type", str(tmp_path / "task.toml"))
    assert "/nowhere.csv" in message


@pytest.mark.parametrize(
    "options",
    [["--budget", "many"], ["--concurrency", "0"], ["--mode", "quantum"], ["--deadline", "-1"]],
)
def test_options_that_cannot_be_used(tmp_path, options, capsys):
    (tmp_path / "task.toml").write_text(TASK)
    (tmp_path / "items.csv").write_bytes(GOOD)
    items, task = str(tmp_path / "items.csv"), str(tmp_path / "task.toml")
    with pytest.raises(SystemExit) as ended:
        execute_from_command_line(
            ["manage.py", "batch", "run", items, "--task-type", task, *options]
        )
    assert ended.value.code == 2
    assert options[0] in capsys.readouterr().err
    assert not Batch.objects.exists()


@pytest.mark.parametrize(
    "option", [("--concurrency", "0"), ("--headroom", "2"), ("--budget", "-1"), ("--rpm", "x")]
)
def test_limits_that_cannot_be_used(option):
    assert "Nothing was changed" in fails("limits", *option)


@pytest.mark.parametrize(
    "verb", ["show", "pause", "resume", "cancel", "retry", "review", "approve", "export", "ledger"]
)
def test_a_batch_that_is_not_there(verb):
    assert "no such batch" in fails("batch", verb, "b_nothing")


def refused(folder, content, task, says, *, name="items.csv", verb="run"):
    items, file = folder / name, folder / "task.toml"
    items.write_bytes(content)
    file.write_text(task)
    message = fails("batch", verb, str(items), "--task-type", str(file))
    assert says in message
    assert "Nothing was created" in message
    assert len(message) < 1_000


def fails(*arguments) -> str:
    """The message of a command that ends with status 2 and leaves nothing behind."""
    with pytest.raises(CommandError) as raised, redirect_stdout(io.StringIO()):
        call_command(*arguments)
    assert raised.value.returncode == 2
    assert not Batch.objects.exists()
    assert not TaskType.objects.exists()
    return str(raised.value)
