"""Run pytest against a PostgreSQL of its own: `python -m tests.on_postgres [pytest arguments]`."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.servers import Postgres, find


def main() -> int:
    if not find("initdb"):
        if os.environ.get("BATCHBOARD_TEST_SERVERS") == "required":
            print("PostgreSQL is not installed.")
            return 1
        print("PostgreSQL is not installed: its tests are left out.")
        return 0
    with tempfile.TemporaryDirectory(prefix="batchboard-pg-") as folder:
        postgres = Postgres(Path(folder) / "server")
        postgres.start()
        try:
            environment = os.environ | {"DATABASE_URL": postgres.url}
            return subprocess.call([sys.executable, "-m", "pytest", *sys.argv[1:]], env=environment)
        finally:
            postgres.stop()


if __name__ == "__main__":
    sys.exit(main())
