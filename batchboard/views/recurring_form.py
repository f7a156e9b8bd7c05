"""The form of what recurs: its texts, what they mean, and what is wrong with them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from dataclasses import fields as dataclass_fields
from decimal import Decimal
from typing import Any

from batchboard.cron import CronError, Times
from batchboard.definition_form import Problem
from batchboard.durations import in_words
from batchboard.models import (
    Batch,
    Recurring,
    RunOptions,
    TaskType,
    TaskVersion,
    Upload,
    User,
)
from batchboard.models.run_options import RunColumns
from batchboard.preparing import PRIORITIES, Prepared, read_options
from batchboard.whole_numbers import whole_number

UPLOAD, BATCH, COMMAND = "upload", "batch", "command"
NEWEST, FIXED = "newest", "fixed"
NO_BUDGET = "no_budget"
TEXTS = (
    "name", "task", "source", "file_id", "batch_id", "command", "key", "cron", "zone", "mode",
    "schedule", "first_look", "concurrency", "budget", NO_BUDGET, "item_timeout", "deadline",
    "sample_size", "priority",
)  # fmt: skip


@dataclass
class RecurringForm:
    """What is asked for. `problems` are by field and keep it from being saved."""

    fields: dict[str, str]
    person: User
    standing: Recurring | None = None
    upload: Upload | None = None
    batch: Batch | None = None
    options: RunOptions = field(default_factory=RunOptions)
    values: dict[str, Any] = field(default_factory=dict)
    problems: dict[str, Problem] = field(default_factory=dict)
    prepared: Prepared = field(default_factory=lambda: Prepared({}))

    def times(self) -> tuple[Times | None, str]:
        return times_of(self.fields.get("cron", ""), self.fields.get("zone", ""))


def times_of(cron: str, zone: str) -> tuple[Times | None, str]:
    """What recurs when, or why that cannot be said."""
    if not cron.strip() or not zone.strip():
        return None, ""
    try:
        return Times(cron.strip(), zone.strip()), ""
    except CronError as wrong:
        return None, str(wrong)


def read(
    given: Mapping[str, str], person: User, standing: Recurring | None = None
) -> RecurringForm:
    """The form as it was sent; what it cannot mean is in its problems."""
    fields = {name: str(given.get(name, "")).strip()[:500] for name in TEXTS}
    form = RecurringForm(fields, person, standing)
    form.prepared = Prepared(fields)
    read_options(form.prepared)
    form.problems |= form.prepared.problems
    form.options = _kept(form.prepared.options, standing or _batch(form))
    _read_budget(form)
    _read_name(form)
    _read_task(form)
    _read_source(form)
    _read_times(form)
    return form


def of_standing(recurring: Recurring, person: User) -> RecurringForm:
    """The form of what stands, to be changed."""
    fields = _option_fields(RunOptions.of(recurring)) | {
        "name": recurring.name,
        "task": f"{FIXED}:{recurring.version_id}"
        if recurring.version_id
        else f"{NEWEST}:{recurring.task_type_id}",
        "source": COMMAND if recurring.command else BATCH if recurring.source_batch else UPLOAD,
        "file_id": recurring.upload.public_id if recurring.upload else "",
        "batch_id": recurring.source_batch.public_id if recurring.source_batch else "",
        "command": recurring.command,
        "key": recurring.key,
        "cron": recurring.cron,
        "zone": recurring.zone,
    }
    return _filled(fields, person, recurring)


def of_batch(batch: Batch | None, person: User) -> RecurringForm:
    """A fresh form, from a batch that is to be repeated where there is one."""
    options = RunOptions() if batch is None else RunOptions.of(batch)
    fields = _option_fields(options) | {"source": UPLOAD, "cron": "0 9 * * 1", "zone": "UTC"}
    if batch is None:
        fields[NO_BUDGET] = ""
    else:
        fields |= {
            "name": batch.version.task_type.name,
            "task": f"{NEWEST}:{batch.version.task_type_id}",
            "source": BATCH,
            "batch_id": batch.public_id,
        }
    return _filled(fields, person, None)


def _filled(fields: dict[str, str], person: User, standing: Recurring | None) -> RecurringForm:
    form = RecurringForm(fields, person, standing)
    form.prepared = Prepared(fields)
    read_options(form.prepared)
    form.upload, form.batch = _upload(form), _batch(form)
    return form


def _option_fields(options: RunOptions) -> dict[str, str]:
    priority = (options.priority > 0) - (options.priority < 0)
    return {
        "mode": options.mode,
        "schedule": options.schedule,
        "first_look": "on" if options.first_look else "",
        "concurrency": str(options.concurrency or ""),
        "budget": "" if options.budget is None else _amount(options.budget),
        NO_BUDGET: "",
        "item_timeout": in_words(options.item_timeout),
        "deadline": in_words(options.deadline) if options.deadline else "",
        "sample_size": str(options.sample_size or ""),
        "priority": next(name for name, number in PRIORITIES.items() if number == priority),
    }


def _amount(amount: Decimal) -> str:
    text = f"{amount:.10f}".rstrip("0")
    whole, _, cents = text.partition(".")
    return f"{whole}.{cents:0<2}"


def _kept(options: RunOptions, like: RunColumns | None) -> RunOptions:
    """What the form does not show stays as it stands, or as the repeated batch has it: the bad
    ones allowed, what holds for one mode alone, and finer steps of priority."""
    if like is None:
        return options
    before = RunOptions.of(like)
    shown = {one.name: getattr(options, one.name) for one in dataclass_fields(options)
             if one.name in TEXTS}  # fmt: skip
    if (before.priority > 0) - (before.priority < 0) == options.priority:
        del shown["priority"]
    return replace(before, **shown)


def _read_budget(form: RecurringForm) -> None:
    without = bool(form.fields[NO_BUDGET])
    if "budget" in form.problems:
        return
    if form.options.budget is None and not without:
        form.problems["budget"] = Problem("Give what one run may cost, or say that it has none.")
    if form.options.budget is not None and without:
        form.problems["budget"] = Problem("Either a budget or none: not both.")


def _read_name(form: RecurringForm) -> None:
    name = form.values["name"] = form.fields["name"]
    form.problems.pop("name", None)
    if not name or len(name) > 150:
        form.problems["name"] = Problem("Give it a name of at most 150 characters.")


def _read_task(form: RecurringForm) -> None:
    how, _, pk = form.fields["task"].partition(":")
    number = whole_number(pk) or 0
    if how == NEWEST:
        found = TaskType.objects.filter(pk=number, versions__isnull=False).first()
        form.values |= {"task_type": found, "version": None}
    else:
        version = TaskVersion.objects.select_related("task_type").filter(pk=number).first()
        found = version.task_type if version and how == FIXED else None
        form.values |= {"task_type": found, "version": version}
    if found is None:
        form.problems["task"] = Problem("Choose a task type.")


def _read_source(form: RecurringForm) -> None:
    form.upload, form.batch = _upload(form), _batch(form)
    source = form.fields["source"]
    form.values |= {
        "upload": form.upload if source == UPLOAD else None,
        "source_batch": form.batch if source == BATCH else None,
        "command": form.fields["command"] if source == COMMAND else "",
        "key": "" if source == BATCH else form.fields["key"][:200],
    }
    missing = {
        UPLOAD: "Choose a file of items.",
        BATCH: "There is no such batch.",
        COMMAND: "Choose a command.",
    }
    if not any(form.values[name] for name in ("upload", "source_batch", "command")):
        form.problems["source"] = Problem(missing.get(source, "Say where the items come from."))


def _read_times(form: RecurringForm) -> None:
    form.values |= {"cron": form.fields["cron"], "zone": form.fields["zone"]}
    try:
        Times(form.fields["cron"], form.fields["zone"])
    except CronError as wrong:
        form.problems[wrong.field] = Problem(str(wrong))


def _upload(form: RecurringForm) -> Upload | None:
    """The person's own file, or the one that stands."""
    file_id = form.fields.get("file_id", "")
    if not file_id:
        return None
    if form.standing and form.standing.upload and form.standing.upload.public_id == file_id:
        return form.standing.upload
    return Upload.objects.filter(public_id=file_id, owner=form.person).first()


def _batch(form: RecurringForm) -> Batch | None:
    batch_id = form.fields.get("batch_id", "")
    if not batch_id:
        return None
    batches = Batch.objects.arrived().select_related("version__task_type")
    return batches.filter(public_id=batch_id).first()


def changes(form: RecurringForm) -> dict[str, Any]:
    """All that the form says, as Recurring holds it."""
    return form.values | asdict(form.options)
