"""The fields of the form of what recurs, as its page shows them: value, hint, and what is wrong."""

from itertools import groupby

from batchboard import item_commands
from batchboard.advice import Action
from batchboard.models import Limits, TaskVersion
from batchboard.roles import Right, may
from batchboard.views import new_fields
from batchboard.views.new_fields import Choice, Field
from batchboard.views.recurring_form import (
    BATCH,
    COMMAND,
    FIXED,
    NEWEST,
    UPLOAD,
    RecurringForm,
)

PRESETS = (
    ("Mondays at 09:00", "0 9 * * 1"),
    ("Workdays at 07:00", "0 7 * * 1-5"),
    ("The 1st at 06:00", "0 6 1 * *"),
    ("Every hour", "0 * * * *"),
)


def text_fields(form: RecurringForm) -> dict[str, Field]:
    found = new_fields.fields(form.prepared, None, Limits.objects.current())
    budget = found["budget"]
    budget.hint, budget.label = "What one run may cost at most", "Budget for each run"
    found |= {
        one.name: one
        for one in (
            Field("name", "Name", hint="Each batch has it with the day and time"),
            Field("key", "Key column", placeholder="key or id",
                  hint="Names each item; empty: automatic"),
            Field("cron", "Cron expression", placeholder="0 9 * * 1",
                  hint="Minute, hour, day of month, month, day of week.",
                  actions=[Action(label, "cron", cron) for label, cron in PRESETS]),
            Field("zone", "Time zone", placeholder="Europe/Berlin",
                  hint="Whose clock that is"),
        )
    }  # fmt: skip
    for one in found.values():
        one.value = form.fields.get(one.name, "")
        if problem := form.problems.get(one.name):
            one.error = problem.message
            one.actions = []
    return found


def choices(form: RecurringForm) -> dict[str, Choice]:
    found = new_fields.choices(form.prepared)
    mode = found["mode"]
    if mode.value not in {value for value, _, _ in mode.options}:
        mode.options.append((mode.value, mode.value, ""))
    return found


def sources(form: RecurringForm) -> list[tuple[str, str]]:
    """The ways for items to come that this person may choose, with their words."""
    found = [(UPLOAD, "A file")]
    if form.batch is not None:
        found.append((BATCH, "The items of a batch"))
    if commands() and may(form.person, Right.ADMINISTER):
        found.append((COMMAND, "A command"))
    return found


def commands() -> list[str]:
    """The names of commands that may put out items."""
    return item_commands.names()


def tasks() -> list[tuple[str, list[tuple[str, str]]]]:
    """Task types by name, each with its choices: the newest version at each run, or one."""
    versions = (
        TaskVersion.objects.select_related("task_type")
        .only("number", "task_type__name")
        .order_by("task_type__name", "-number")
    )
    found = []
    for kind, those in groupby(versions, lambda version: version.task_type):
        choices = [(f"{NEWEST}:{kind.pk}", f"{kind.name}: the newest version at each run")]
        choices += [(f"{FIXED}:{one.pk}", f"{kind.name}: always v{one.number}") for one in those]
        found.append((kind.name, choices))
    return found
