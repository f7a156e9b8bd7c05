"""Watching a batch in a terminal until it ends, stands still, or is nobody's any more."""

import time
from collections.abc import Iterator

from django.utils import timezone
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from batchboard import rows
from batchboard.cli.refusals import BLOCKED, DEAD_ITEMS, DONE
from batchboard.cli.terminal import printable
from batchboard.models import Batch, Limits, Mode
from batchboard.states import UNFINISHED_BATCH, BatchState, Wait
from dispatch import pump

INTERVAL_SECONDS = 0.25
WAITS = {
    Wait.SLOT: "a free slot",
    Wait.REQUESTS: "requests per minute",
    Wait.INPUT_TOKENS: "input tokens per minute",
    Wait.OUTPUT_TOKENS: "output tokens per minute",
    Wait.PROVIDER_PAUSE: "the provider's pause after a 429",
    Wait.OVERLOADED: "the provider, which is overloaded (529); it is asked again by itself",
    Wait.SERVER_FAILS: "the provider, which fails (5xx); it is asked again by itself",
    Wait.UNREACHABLE: "the provider, which cannot be reached; it is asked again by itself",
    Wait.MONEY: "money held for calls in flight",
    Wait.BACKOFF: "the delay before a retry",
    Wait.CACHE: "the first answer to begin (it writes the cache)",
    Wait.WAVE: "the rest of its wave",
    Wait.WORKER: "a worker: none takes work, is `make run` running?",
    Wait.PAUSED_ALL: "everything is paused",
    Wait.PROVIDER: "the provider, which works through its message batches in its own time",
}


def watch(batch: Batch, console: Console, *, quiet: bool) -> int:
    """Wait for `batch`; returns the exit status. Unless `quiet`, a live view shows how it goes."""
    if quiet:
        for _ in _until_over(batch):
            pass
    else:
        with Live(console=console, refresh_per_second=4, transient=True) as live:
            for _ in _until_over(batch):
                live.update(_view(batch))
    return exit_status(batch)


def exit_status(batch: Batch) -> int:
    if batch.blocked and batch.state in UNFINISHED_BATCH:
        return BLOCKED
    return DEAD_ITEMS if batch.dead else DONE


def warn_without_worker(console: Console) -> None:
    """Say so where nothing would take the work up."""
    if not pump.alive(rows.now()):
        console.print(
            "No worker is running, so nothing is sent yet: start `make run` with the same data"
            " folder (BATCHBOARD_DATA_DIR) or database.",
            style="yellow",
        )


def _until_over(batch: Batch) -> Iterator[None]:
    while batch.state in UNFINISHED_BATCH and not batch.blocked:
        yield
        time.sleep(INTERVAL_SECONDS)
        batch.refresh_from_db()


def _view(batch: Batch) -> Table:
    limits = Limits.objects.current()
    running = batch.live_items
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column()
    table.add_row("batch", Text.assemble((printable(batch.name), "bold"), "  ", batch.public_id))
    table.add_row("items", bar(batch, running))
    expected = batch.estimate_expected
    table.add_row(
        "cost",
        f"${batch.cost:.4f}" + ("" if expected is None else f" of est. ${expected:.4f}"),
    )
    if batch.mode == Mode.PROVIDER_BATCH:
        table.add_row("provider", f"{running:,} requests with it, or on their way")
    else:
        cap = f"{running} in flight of {limits.cap_in_force} ({limits.cap} configured)"
        table.add_row("cap", cap)
    table.add_row("time", _time_left(batch))
    if batch.state == BatchState.PAUSED:
        table.add_row("waits", "paused")
    elif batch.waits_for:
        table.add_row("waits", Text(f"for {WAITS[Wait(batch.waits_for)]}", style="yellow"))
    return table


def bar(batch: Batch, running: int) -> Text:
    """How far a batch is, in a line."""
    width = 40
    scale = width / max(1, batch.total)
    done, dead, busy = (round(n * scale) for n in (batch.succeeded, batch.dead, running))
    line = Text()
    line.append("█" * done, style="green")
    line.append("█" * dead, style="red")
    line.append("▒" * busy, style="blue")
    line.append("░" * max(0, width - done - dead - busy), style="dim")
    line.append(f"  {batch.ended:,} of {batch.total:,}, {running} running")
    if batch.dead:
        line.append(f", {batch.dead} dead", style="red")
    return line


def _time_left(batch: Batch) -> str:
    now = timezone.now()
    left = batch.seconds_left(now)
    expected = "–" if left is None else f"~{left:.0f} s left"
    if batch.started_at is None:
        return expected
    so_far = f"{(now - batch.started_at).total_seconds():.0f} s so far"
    # Results of message batches come all at once after a long wait: their number says nothing.
    if batch.state != BatchState.RUNNING or (batch.mode == Mode.PROVIDER_BATCH and batch.ended):
        return so_far
    return f"{so_far}, {expected}"
