"""What each `manage.py recurring …` does. One function a command; each returns the exit status."""

import json
from pathlib import Path
from typing import Any

from django.db import transaction
from rich.table import Table

from batchboard import intake
from batchboard.cli.answering import Options
from batchboard.cli.options import run_options
from batchboard.cli.refusals import DONE, bad_input
from batchboard.cli.terminal import Terminal, printable
from batchboard.models import Batch, Recurring, RecurringRun, TaskType, TaskVersion, Upload
from batchboard.models.changing import NotPossible
from batchboard.models.recurring_run import runs_newest
from batchboard.models.upload import CHUNK_BYTES
from batchboard.summary import number, stamp
from dispatch import intake_tasks


def list_(options: Options) -> int:
    found = list(Recurring.objects.select_related("task_type", "version", "upload", "source_batch"))
    newest = runs_newest([recurring.pk for recurring in found])
    if options["json"]:
        print(json.dumps([_summary(one, newest.get(one.pk)) for one in found]))
        return DONE
    table = Table("id", "name", "when", "next", "last run", box=None, pad_edge=False)
    for one in found:
        run = newest.get(one.pk)
        following = one.times.here(one.next_at) if one.next_at else "paused"
        table.add_row(
            one.public_id, one.name, one.times.words(), following, run.state if run else ""
        )
    Terminal().print(table)
    return DONE


def add(options: Options) -> int:
    task_type, version = _task_type(options)
    values: dict[str, Any] = {"task_type": task_type, "version": version}
    with transaction.atomic():
        if options["from_batch"]:
            values["source_batch"] = Batch.objects.arrived().get(public_id=options["from_batch"])
        elif options["command"]:
            values["command"] = options["command"]
        else:
            values["upload"] = _stored(Path(options["items"]))
        try:
            made = Recurring.objects.make(
                run_options(options),
                name=options["name"] or task_type.name,
                key=options["key"],
                cron=options["cron"],
                zone=options["zone"],
                **values,
            )
        except NotPossible as wrong:
            raise bad_input(str(wrong)) from wrong
    intake_tasks.nudge()
    return _say(options, made)


def pause(options: Options) -> int:
    found = _find(options)
    found.pause()
    return _say(options, found)


def resume(options: Options) -> int:
    found = _find(options)
    found.resume()
    return _say(options, found)


def run(options: Options) -> int:
    found = _find(options)
    found.run_now()
    intake_tasks.nudge()
    return _say(options, found)


def remove(options: Options) -> int:
    found = _find(options)
    result = _summary(found, found.runs.first())
    found.remove()
    said = f"{result['id']} deleted: {found.name}"
    print(json.dumps(result) if options["json"] else printable(said))
    return DONE


def _find(options: Options) -> Recurring:
    try:
        return Recurring.objects.get(public_id=options["id"])
    except Recurring.DoesNotExist as error:
        raise bad_input(
            "There is no such recurring batch: `manage.py recurring list` shows them."
        ) from error


def _task_type(options: Options) -> tuple[TaskType, TaskVersion | None]:
    """The task type by its name or of a file, and its version where that is fixed."""
    given = options["task_type"]
    if Path(given).suffix == ".toml":
        definition = intake.read_task_file(Path(given).read_bytes())
        version = TaskVersion.objects.for_definition(definition)
    else:
        try:
            version = TaskVersion.objects.filter(task_type__name=given).latest("number")
        except TaskVersion.DoesNotExist as error:
            raise bad_input(f"There is no task type “{given}”.") from error
    return version.task_type, version if options["fixed"] else None


def _stored(path: Path) -> Upload:
    with path.open("rb") as file:
        return Upload.objects.receive(path.name, iter(lambda: file.read(CHUNK_BYTES), b""), None)


def _say(options: Options, found: Recurring) -> int:
    if options["json"]:
        print(json.dumps(_summary(found, found.runs.first())))
    else:
        following = f"next {found.times.here(found.next_at)}" if found.next_at else "paused"
        said = f"{found.public_id}: {found.name}, {found.times.words()}; {following}"
        print(printable(said))
    return DONE


def _summary(found: Recurring, run: RecurringRun | None) -> dict[str, Any]:
    """In plain values, for machines."""
    version, upload, source = found.version, found.upload, found.source_batch
    return {
        "id": found.public_id,
        "name": found.name,
        "task_type": found.task_type.name,
        "version": version.number if version else "newest",
        "items": {
            "file": upload.name if upload else None,
            "batch": source.public_id if source else None,
            "command": found.command or None,
        },
        "cron": found.cron,
        "zone": found.zone,
        "when": found.times.words(),
        "enabled": found.enabled,
        "stopped_because": found.stopped_because or None,
        "next_at": stamp(found.next_at),
        "budget_usd": number(found.budget),
        "last_run": run
        and {
            "due_at": stamp(run.due_at),
            "state": run.state,
            "problem": run.problem or None,
            "batch": run.batch.public_id if run.batch else None,
        },
    }
