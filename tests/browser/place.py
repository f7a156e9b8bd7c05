"""The installation that the tests of the pages share."""

import json
import subprocess
import sys

from tests.acceptance.installation import ROOT, Installation


class Place(Installation):
    """Its commands run in forks, see `forks`."""

    def __enter__(self) -> "Place":
        super().__enter__()
        self._forks = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.forks"], cwd=ROOT, env=self.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return self

    def __exit__(self, *exception: object) -> None:
        self._forks.communicate()
        super().__exit__(*exception)

    def run(self, *arguments: object, status: int | None = 0) -> str:
        output, errors = self.folder / "command.out", self.folder / "command.err"
        line = json.dumps([[str(one) for one in arguments], str(output), str(errors)])
        self._forks.stdin.write(line + "\n")
        self._forks.stdin.flush()
        self.status = int(self._forks.stdout.readline())
        self.errors = errors.read_text()
        if status is not None:
            assert self.status == status, (self.status, output.read_text(), self.errors)
        return output.read_text()
