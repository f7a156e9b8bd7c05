"""Loaded before Django reads its settings: a data folder of the tests' own, and no real key."""

import os
import shutil
import tempfile

DATA_DIR = os.environ["BATCHBOARD_DATA_DIR"] = tempfile.mkdtemp(prefix="batchboard-tests-")
for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "DISPATCH_"))]:
    del os.environ[name]
os.environ["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"


def pytest_unconfigure() -> None:
    shutil.rmtree(DATA_DIR, ignore_errors=True)
