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


TOGETHER = {
    "DISPATCH_CONCURRENCY": ("0", "must be a whole number from 1"),
    "DISPATCH_RPM": ("many", "must be a whole number from 1"),
    "DISPATCH_HEADROOM": ("5", "must be a number from 0.05 to 1"),
    "DISPATCH_BUDGET_USD": ("much", "must be an amount"),
    "DISPATCH_BUDGET_PERIOD": ("week", "must be month or all"),
    "PORT": ("99999", "must be a whole number from 1 to 65,535"),
    "BATCHBOARD_WORKERS": ("two", "must be a whole number"),
}


@pytest.mark.parametrize("words", [("up",), ("limits",)])
def test_all_that_is_wrong_is_said_before_anything_starts(tmp_path, words):
    ended = manage(tmp_path, *words, **{name: value for name, (value, _) in TOGETHER.items()})
    assert (ended.returncode, ended.stdout) == (2, "")
    for name, (_, said) in TOGETHER.items():
        assert f"{name} {said}" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("name", "value", "status", "said"),
    [
        ("BATCHBOARD_SIMULATOR", "--rate-529 9", 2, "the fault rates together"),
        (
            "BATCHBOARD_SIMULATOR",
            "--colour blue",
            2,
            "BATCHBOARD_SIMULATOR: unrecognized arguments",
        ),
        ("BATCHBOARD_DATA_DIR", "/dev/null/data", 2, "the folder /dev/null/data"),
        ("DATABASE_URL", "team:secret@db/batches", 2, "DATABASE_URL is no address of a database"),
        ("REDIS_URL", "redis://team:secret@127.0.0.1:1/0", 1, "127.0.0.1:1 does not answer"),
    ],
)
def test_what_is_found_at_the_start_is_said_in_a_line(tmp_path, name, value, status, said):
    ended = manage(tmp_path, "up", **{name: value})
    assert (ended.returncode, ended.stdout) == (status, "")
    assert said in ended.stderr
    assert "secret" not in ended.stderr
    assert "Traceback" not in ended.stderr
