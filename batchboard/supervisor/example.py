"""The example that a newcomer sees move: 40 support tickets, triaged."""

from pathlib import Path

from batchboard import intake
from batchboard.models import Batch, RunOptions

FOLDER = Path(__file__).resolve().parent.parent / "examples"


def load() -> Batch:
    """Create the example batch and start it."""
    definition = intake.read_task_file((FOLDER / "ticket-triage.toml").read_bytes())
    tickets = FOLDER / "tickets.csv"
    with tickets.open("rb") as file:
        batch = intake.create(
            intake.Items(file, tickets.name, definition), RunOptions(concurrency=8)
        )
    batch.start()
    return batch
