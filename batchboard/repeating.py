"""From a time that came to its batch, which is made and started whole or not at all."""

import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from batchboard import intake, item_commands
from batchboard.ingest import IngestError
from batchboard.item_commands import CommandProblem
from batchboard.leasing import Taken, announce, claim, keeping, settle, teller
from batchboard.models import (
    Recurring,
    RecurringRun,
    RunOptions,
    RunState,
    TaskVersion,
    UploadState,
)
from batchboard.models.decision import decision
from batchboard.roles import NEEDED, may
from batchboard.states import MoveRefused

log = logging.getLogger(__name__)

Tell = Callable[..., None]


class _Skipped(Exception):
    """This time nothing is made; str() says why."""


def make_one() -> bool:
    """Make the batch of the oldest run that waits. False where none does."""
    run = claim(RecurringRun.objects.waiting().select_related("recurring__owner", "asked_by"))
    if run is None:
        return False
    watchers = [run.recurring.public_id]
    try:
        with keeping(run):
            _make(run, teller(run, watchers))
    except Taken:
        log.warning("a run of %s took too long and was taken over", run.recurring.public_id)
    except _Skipped as why:
        _end(run, RunState.SKIPPED, str(why))
    except IngestError as wrong:
        hint = wrong.hint or "Fix the items: they are read again at the next time."
        _end(run, RunState.FAILED, wrong.message, hint)
    except CommandProblem as wrong:
        _end(run, RunState.FAILED, str(wrong), wrong.hint)
    except (MoveRefused, LookupError) as wrong:
        _end(run, RunState.FAILED, str(wrong).removesuffix(" Nothing was created."))
    except Exception:
        # Left waiting it would be tried again every few seconds, for ever.
        log.exception("a run of %s could not be made", run.recurring.public_id)
        _end(run, RunState.FAILED, "Something unexpected happened.", "The log of the files worker"
             " has more; run it once more by hand.")  # fmt: skip
    announce(watchers)
    return True


def _make(run: RecurringRun, tell: Tell) -> None:
    recurring = run.recurring
    _check_person(run)
    _check_before(run)
    version = recurring.version or recurring.task_type.versions.latest("number")
    by = run.asked_by or recurring.owner
    with _items(recurring, version, tell) as items:
        batch = intake.create(
            items,
            RunOptions.of(recurring),
            _name(run),
            by,
            progress=lambda number: tell(stored=number),
            arrives=False,
            version=version,
        )
    try:
        with decision():
            batch.arrive(by)
            settle(run, state=RunState.STARTED, batch=batch, stored=batch.total)
            batch.start(by)
    except BaseException:
        batch.discard()
        raise


def _check_person(run: RecurringRun) -> None:
    """Whoever it is started by must still have the right to; else nothing more is made."""
    recurring, by = run.recurring, run.asked_by or run.recurring.owner
    if by is None or may(by, recurring.right):
        return
    why = f"{by} may no longer start it: only {NEEDED[recurring.right]} may"
    if run.asked_by is None and recurring.enabled:
        recurring.stop(f"{why}. Whoever may can resume it.")
    raise MoveRefused(f"{why}.")


def _check_before(run: RecurringRun) -> None:
    earlier = run.recurring.runs.waiting().filter(pk__lt=run.pk)
    if earlier.exists():
        raise _Skipped("The run before it was still being made.")
    if before := run.recurring.unfinished():
        raise _Skipped(f"{before.name} was still {before.state}.")


def _name(run: RecurringRun) -> str:
    bare = run.recurring.name.removeprefix("[Batch] ")
    day = run.recurring.times.here(run.due_at).partition(", ")[2]
    return f"[Batch] {bare}: {day}"


@contextmanager
def _items(recurring: Recurring, version: TaskVersion, tell: Tell) -> Iterator[intake.Source]:
    definition, key = version.definition, recurring.key or None
    if recurring.source_batch is not None:
        yield intake.Copied(recurring.source_batch, definition)
    elif recurring.upload is not None:
        if recurring.upload.state == UploadState.RECEIVING:
            raise IngestError("The file did not arrive whole.", hint="Give it once more.")
        with recurring.upload.open() as stream:
            yield intake.Items(stream, recurring.upload.name, definition, key)
    else:
        with tempfile.TemporaryFile() as file:
            item_commands.run(recurring.command, file, tell)
            yield intake.Items(file, "-", definition, key)


def _end(run: RecurringRun, state: RunState, problem: str, hint: str = "") -> None:
    try:
        settle(run, state=state, problem=problem[:500], hint=hint[:300], stored=0)
    except Taken:
        log.warning("a run of %s was taken over", run.recurring.public_id)
