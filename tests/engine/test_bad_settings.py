"""An installation whose settings cannot be does not start, and says in a line what to change."""

import os
import subprocess
import sys

import pytest

from tests.acceptance.installation import ROOT


def manage(data, *words, **environment):
    return subprocess.run(
        [sys.executable, "manage.py", *words], cwd=ROOT, capture_output=True, text=True, timeout=30,
        env=os.environ | {"BATCHBOARD_DATA_DIR": str(data), "ANTHROPIC_BASE_URL": ""} | environment,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("DISPATCH_CONCURRENCY", "0", "DISPATCH_CONCURRENCY must be a whole number from 1"),
        ("DISPATCH_RPM", "many", "DISPATCH_RPM must be a whole number from 1"),
        ("DISPATCH_HEADROOM", "5", "DISPATCH_HEADROOM must be a number from 0.05 to 1"),
        ("DISPATCH_BUDGET_USD", "much", "DISPATCH_BUDGET_USD must be an amount"),
        ("DISPATCH_BUDGET_PERIOD", "week", "DISPATCH_BUDGET_PERIOD must be month or all"),
        ("PORT", "http", "PORT must be a whole number from 1 to 65,535"),
        ("PORT", "99999", "PORT must be a whole number from 1 to 65,535"),
        ("BATCHBOARD_WORKERS", "two", "BATCHBOARD_WORKERS must be a whole number"),
        ("BATCHBOARD_SIMULATOR", "--rate-529 9", "BATCHBOARD_SIMULATOR: the fault rates together"),
        ("BATCHBOARD_SIMULATOR", "--colour blue", "BATCHBOARD_SIMULATOR: unrecognized arguments"),
        ("DATABASE_URL", "db:5432", "DATABASE_URL is no address of a database"),
        ("BATCHBOARD_DATA_DIR", "/dev/null/data", "BATCHBOARD_DATA_DIR: the folder /dev/null/data"),
    ],
)
def test_it_is_said_before_anything_starts(tmp_path, name, value, said):
    ended = manage(tmp_path, "up", **{name: value})
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_commands_say_it_as_well(tmp_path):
    ended = manage(tmp_path, "limits", DISPATCH_RPM="many", PORT="http")
    assert ended.returncode == 2
    assert "DISPATCH_RPM must be" in ended.stderr
    assert "PORT must be" in ended.stderr


def test_a_password_in_the_address_of_the_database_is_never_shown(tmp_path):
    ended = manage(tmp_path, "up", DATABASE_URL="team:very-secret@db/batches")
    assert "very-secret" not in ended.stderr + ended.stdout
