"""The form of a new experiment: what it shows, and its addresses."""

import re
from collections.abc import Mapping
from math import ceil
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from batchboard.advice import Action
from batchboard.arm_text import GROUP_LETTERS, MOST_ARMS
from batchboard.definition_form import Problem
from batchboard.experiment_preparing import (
    PreparedExperiment,
    arm_ids,
    first_fields,
    foresee,
    prepare_experiment,
)
from batchboard.experimenting import MOST_ITEMS, USUAL_ITEMS, Foreseen
from batchboard.models import Batch, Mode, Preparation, PreparationKind, TaskVersion
from batchboard.models.run_options import GROUP_SIZES
from batchboard.preparing import counted
from batchboard.views.kept_form import KeptForm, ask_for_count
from batchboard.views.new_fields import Field
from batchboard.views.refusing import operators_only
from batchboard.views.requests import is_fragment
from batchboard.views.task_choices import task_choices
from batchboard.whole_numbers import whole_number

FIELDS = re.compile(r"task_type|source|key|n|budget|no_budget|arms|(mode|size|at_once)-\d{1,3}")
SOURCES_OFFERED = 20

operators = operators_only("create experiments")


class NewExperiment(KeptForm[PreparedExperiment]):
    kind = PreparationKind.EXPERIMENT
    title = "New experiment"
    prefix = "experiment"
    address = "experiment-form"
    left_to = "experiments"
    part = "experiments/_form.html"
    labels = {
        "items": "Items",
        "source": "Items",
        "key": "Key",
        "task_type": "Task type",
        "n": "Items of each arm",
        "arms": "Arms",
        "budget": "Budget",
    }
    set_by_file = {"source": ""}

    def first_fields(self, request: HttpRequest) -> dict[str, str]:
        """Of `?type=`, a task type, its newest version and the last batch that did something; so
        many items of each as `?items=` says."""
        asked = whole_number(request.GET.get("type", ""))
        items = whole_number(request.GET.get("items", ""))
        n = "" if items is None else str(min(MOST_ITEMS, max(2, items)))
        if asked is None:
            return first_fields(n=n)
        version = TaskVersion.objects.filter(task_type=asked).order_by("-number").first()
        if version is None:
            return first_fields(n=n)
        last = _sources(version).filter(started_at__isnull=False).first()
        return first_fields(str(version.pk), last.public_id if last else "", n)

    def sent_fields(self, preparation: Preparation, request: HttpRequest) -> dict[str, str]:
        """What was sent, with an arm more or less where that button was pressed."""
        given = {name: str(value) for name, value in request.POST.items() if FIELDS.fullmatch(name)}
        if given.get("task_type", "") and whole_number(given["task_type"]) is None:
            del given["task_type"]
        if not given:
            return {}
        ids = arm_ids(given)
        if "add" in request.POST and len(ids) < MOST_ARMS:
            ids.append(str(max(map(int, ids), default=-1) + 1))
            given[f"mode-{ids[-1]}"] = _unused(given, ids)
        if (gone := request.POST.get("remove")) in ids:
            ids.remove(gone)
        kept = {
            name: value
            for name, value in given.items()
            if "-" not in name or name.rpartition("-")[2] in ids
        }
        return kept | {"arms": ",".join(ids)}

    def read(self, preparation: Preparation) -> PreparedExperiment:
        return prepare_experiment(preparation)

    def made(self, preparation: Preparation) -> str | None:
        made = preparation.experiment
        return reverse("experiment", args=[made.public_id]) if made else None

    def shown(
        self, preparation: Preparation, read: PreparedExperiment, wrong: Mapping[str, Problem]
    ) -> dict[str, Any]:
        foreseen = foresee(preparation, read)
        ask_for_count(preparation, read.base)
        version = read.base.version
        sources = list(_sources(version)[:SOURCES_OFFERED]) if version else []
        if read.source and read.source not in sources:
            sources.append(read.source)
        return {
            "found": read,
            "prepared": read.base,
            "columns": read.base.profile.columns if read.base.profile else [],
            "sources": sources,
            "task_choices": task_choices(version),
            "modes": [(mode.value, mode.label) for mode in Mode],
            "arms": _arms(read, foreseen),
            "may_add": len(read.rows) < MOST_ARMS,
            "estimate": foreseen,
            "is_short": foreseen is not None
            and read.budget is not None
            and read.budget < foreseen.expected,
            "counted": bool(counted(preparation, read.base).bytes),
            "fields": _fields(read, foreseen, wrong),
            "what": f"{len(read.rows)} arms",
            "no_budget": bool(read.fields.get("no_budget")),
        }


FORM = NewExperiment()


@require_safe
@operators
def new(request: HttpRequest) -> HttpResponse:
    return FORM.begin(request)


@require_http_methods(["GET", "POST"])
@operators
def form(request: HttpRequest, public_id: str) -> HttpResponse:
    return FORM.show(request, public_id, part=is_fragment(request))


@require_POST
@operators
def items(request: HttpRequest, public_id: str) -> HttpResponse:
    return FORM.take_items(request, public_id)


@require_POST
@operators
def start(request: HttpRequest, public_id: str) -> HttpResponse:
    return FORM.start(request, public_id)


@require_POST
@operators
def discard(request: HttpRequest, public_id: str) -> HttpResponse:
    return FORM.discard(request, public_id)


def _sources(version: TaskVersion) -> QuerySet[Batch]:
    """Batches whose items could be drawn, the newest first."""
    found = Batch.objects.on_board().filter(version__task_type=version.task_type_id, total__gt=1)
    return found.order_by("-id")


def _unused(fields: dict[str, str], ids: list[str]) -> str:
    """A mode that no arm has yet, for one more arm."""
    used = {fields.get(f"mode-{one}") for one in ids}
    return next((mode for mode in Mode.values if mode not in used), Mode.CACHED)


def _arms(found: PreparedExperiment, foreseen: Foreseen | None) -> list[dict[str, Any]]:
    """Each row of the form with what it will cost, where that is known."""
    costs = list(foreseen.arms) if foreseen else [None] * len(found.rows)
    return [
        {
            "row": row,
            "usual": GROUP_SIZES.get(Mode(row.mode)),
            "letter": GROUP_LETTERS.get(Mode(row.mode), ""),
            "says": Mode(row.mode).label,
            "estimate": cost,
            "label": row.plan.label if row.plan else row.mode,
        }
        for row, cost in zip(found.rows, costs, strict=True)
    ]


def _fields(
    found: PreparedExperiment, foreseen: Foreseen | None, wrong: Mapping[str, Problem]
) -> dict[str, Field]:
    n = Field("n", "Items of each arm", placeholder=str(USUAL_ITEMS), numeric=True)
    n.hint = "Drawn at random; each arm gets the same"
    if found.available:
        n.unit = f"of {found.available:,}"
    budget = Field("budget", "Budget for all arms", unit="$", placeholder="none given")
    budget.hint = "Shared out to the arms by their estimates"
    if foreseen is not None:
        enough = f"{ceil(foreseen.worst * 100) / 100:.2f}"
        budget.actions = [Action(f"Use ${enough}, the worst case", "budget", enough)]
    for field in (n, budget):
        field.value = found.fields.get(field.name, "")
        if problem := wrong.get(field.name):
            field.error = problem.message
            if problem.value:
                field.actions = [Action(problem.label, field.name, problem.value)]
    return {"n": n, "budget": budget}
