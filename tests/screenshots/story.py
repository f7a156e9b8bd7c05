"""What happened in the installation that the pictures show: real runs, made through its pages."""

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from tests.acceptance.installation import Installation
from tests.screenshots import material
from tests.screenshots.person import Person
from tests.servers import until

QUICK = {"latency": 0.25, "rate_529": 0.02, "output_tokens": 60}
BROKEN, LIMITED = "Halden Metrics", "Quarry Help"
PAUSE_SECONDS = 45


@dataclass
class Story:
    """The people, and the ids of batches and paths of pages by what they show."""

    bb: Installation
    browser: Browser
    folder: Path
    shown: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        address = f"http://localhost:{self.bb.port}"
        found = re.search(r"one-time password (\S+)", (self.folder / "up.log").read_text())
        assert found
        self.nobody = Person(self.browser, address)
        self.admin = Person(self.browser, address, "admin", found[1])
        self.operator = self.admin.add("operator", "Operator", "operator")
        self.reviewer = self.admin.add("reviewer", "Reviewer", "reviewer")
        self.viewer = self.admin.add("viewer", "Viewer")

    def prepare(self) -> None:
        """Everything that stands still: it takes no part in what is under way later."""
        self.competitors = material.competitors(self.folder)
        self.notes = material.pull_requests(self.folder, 64)
        self.tickets = material.tickets(self.folder, 2_000)
        self._write_task_types()
        self.bb.simulate(**QUICK)
        self._finish()
        self._experiment()
        self._repeat()
        self._stop_halfway()
        self._draft()

    def run(self) -> None:
        """Two batches under way; a 429 holds one of them up, and two more wait behind it."""
        self.bb.simulate(
            latency=2.5, limit_headers=False, fault_retry_after=PAUSE_SECONDS,
            fail_containing={BROKEN: "malformed", LIMITED: "429"},
        )  # fmt: skip
        scan = self._create(
            "running", self.competitors, "Weekly competitor scan", 0, concurrency=8, budget="2.00"
        )
        self._create("tickets", self.tickets, "Ticket triage", 0, only_first=900)
        self.operator.send(
            f"/batches/{scan}/comments", text="Same list as last week, plus Gannet and Elmtree?"
        )
        until(lambda: self._column(scan, "waits_for") == "provider_pause", 40, "the 429")
        self._create("queued", self.notes, "PR review notes", 0, priority="high")
        self._create("queued2", self.competitors, "Weekly competitor scan", 0, only_first=12,
                     name="[Batch] Competitors at the fair")  # fmt: skip
        self.bb.simulate(fail_containing={BROKEN: "malformed"})

    def _write_task_types(self) -> None:
        self.operator.write_task_type(material.TRIAGE)
        self.operator.write_task_type(material.NOTES)
        check = "Every price is in the page text"
        scan = self.operator.write_task_type(material.SCAN, check=check)
        check += "\nThe threat fits our market"
        self.operator.write_task_type(material.SCAN, f"{scan}edit", check=check)
        self.operator.write_task_type(material.SCAN, f"{scan}edit")
        self.shown["task type"] = scan

    def _finish(self) -> None:
        """Batches that went through review, and some that wait for it."""
        released = [
            self._create("single", self.competitors, "Weekly competitor scan", 14, mode="single"),
            self._create("released", self.competitors, "Weekly competitor scan", 7),
            self._create("released notes", self.notes, "PR review notes", 2),
            self._create("released tickets", self.tickets, "Ticket triage", 3, only_first=90),
        ]
        self.bb.simulate(**QUICK, fail_containing={"T-88131": "malformed", "T-88127": "refusal"})
        open_ = [
            self._create("review", self.competitors, "Weekly competitor scan", 1),
            self._create("fresh", self.tickets, "Ticket triage", 1, only_first=58),
            self._create("judged", self.notes, "PR review notes", 1),
        ]
        rejected = self._create("rejected", self.notes, "PR review notes", 4, only_first=20)
        for batch in (*released, *open_, rejected):
            self._wait_for_review(batch)
        for batch in released:
            self._judge_all(batch)
            self.reviewer.send(f"/batches/{batch}/review/approval")
        for batch in released[1:3]:
            self.operator.get(f"/batches/{batch}/export.csv")
        self.reviewer.judge(open_[0], "pass", "pass")
        self._judge_all(open_[2])
        self.reviewer.judge(
            rejected, "The risk is low although it changes what a customer pays", "pass"
        )
        self.reviewer.send(
            f"/batches/{rejected}/review/rejection", rerun="none",
            reason="The notes say what the code does, and not what to test.",
        )  # fmt: skip
        self.bb.simulate(**QUICK, fail_containing={})

    def _stop_halfway(self) -> None:
        self.bb.simulate(latency=1)
        paused = self._create("paused", self.notes, "PR review notes", 0, concurrency=8,
                              name="[Batch] Notes for the June release")  # fmt: skip
        until(lambda: self._column(paused, "succeeded") > 20, 40, "a part of it", every=0.1)
        self.operator.send(f"/batches/{paused}/pause")
        self.bb.simulate(latency=0.25)
        blocked = self._create("blocked", self.tickets, "Ticket triage", 5, only_first=120,
                               budget="0.006")  # fmt: skip
        until(lambda: self._column(blocked, "blocked"), 60, "the block", every=0.1)

    def _draft(self) -> None:
        self._create("draft", self.tickets, "Ticket triage", 0, start=False)
        self._create("small", self.notes, "PR review notes", 0, start=False, only_first=12,
                     name="[Batch] Hotfix notes")  # fmt: skip
        self.shown["new filled"] = self.operator.prepare(
            self.tickets, "Ticket triage", concurrency=20, budget="1.00", deadline="30 s",
            first_look="on",
        )  # fmt: skip

    def _experiment(self) -> None:
        """One that ended and was reviewed, and one that was not started."""
        arms = {"arms": "0,1,2,3", "mode-0": "single", "mode-1": "cached", "mode-2": "session",
                "size-2": "8", "mode-3": "packed", "size-3": "5", "n": 50,
                "budget": "2.00"}  # fmt: skip
        items = material.competitors(self.folder, 60)
        for shown_as, start in (("experiment draft", False), ("experiment", True)):
            path = self.operator.experiment(items, "Weekly competitor scan", arms, start)
            self.shown[shown_as] = path
        until(lambda: "What to do next" in self.operator.get(path).text(), 60, "the verdict")
        batches = self.bb.read_all(
            "SELECT b.public_id FROM batchboard_batch b JOIN batchboard_experimentarm a"
            " ON a.batch_id = b.id WHERE b.state = 'review'"
        )
        for (batch,) in batches:
            for drawn in json.loads(self.bb.run("batch", "review", "--json", batch)):
                self.bb.run("batch", "judge", batch, drawn["key"], "pass")

    def _repeat(self) -> None:
        """Three that recur: one ran, one is to come, one is paused."""
        batch = self.shown["released"].split("/")[2]
        made = []
        for name, source, task_type, cron in (
            ("Weekly competitor scan", ("--from-batch", batch), "Weekly competitor scan",
             "0 9 * * 1"),
            ("Ticket triage of the night", ("--items", self.tickets), "Ticket triage",
             "0 7 * * 1-5"),
            ("Notes for the release", ("--items", self.notes), "PR review notes", "0 6 1 * *"),
        ):  # fmt: skip
            said = self.bb.run(
                "recurring", "add", *source, "--name", name, "--task-type", task_type, "--cron",
                cron, "--zone", "Europe/Berlin", "--budget", "2",
            )  # fmt: skip
            made.append(said.partition(":")[0])
        self.bb.run("recurring", "pause", made[2])
        self.shown["recurring"] = f"/recurring/{made[0]}/"
        self.operator.send(f"{self.shown['recurring']}run")
        until(lambda: self.bb.read("SELECT count(*) FROM batchboard_recurringrun WHERE"
                                   " state = 'started'")[0], 60, "the run", every=0.2)  # fmt: skip

    def _create(
        self, shown_as: str, items: Path, task_type: str, days_ago: int, /, **fields: object
    ) -> str:
        day = datetime.now(UTC).date() - timedelta(days=days_ago)
        fields = {"name": f"[Batch] {task_type}: {day:%b} {day.day}"} | fields
        batch = self.operator.create(items, task_type, **fields)
        self.shown[shown_as] = f"/batches/{batch}/"
        return batch

    def _judge_all(self, batch: str) -> None:
        (drawn,) = self.bb.read(
            "SELECT count(*) FROM batchboard_sampleditem s JOIN batchboard_review r"
            " ON r.id = s.review_id JOIN batchboard_batch b ON b.id = r.batch_id"
            " WHERE b.public_id = %s", batch,
        )  # fmt: skip
        self.reviewer.judge(batch, *["pass"] * drawn)

    def _wait_for_review(self, batch: str) -> None:
        until(lambda: self._column(batch, "state") == "review", 60, "the review", every=0.1)

    def _column(self, batch: str, name: str) -> Any:
        return self.bb.read(f"SELECT {name} FROM batchboard_batch WHERE public_id = %s", batch)[0]
