"""The form of a new experiment: one page, one fragment of it, and what its buttons do."""

import re
from collections.abc import Iterable
from math import ceil
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from batchboard.advice import Action
from batchboard.arm_text import GROUP_LETTERS, MOST_ARMS
from batchboard.experiment_preparing import (
    PreparedExperiment,
    arm_ids,
    first_fields,
    foresee,
    prepare_experiment,
)
from batchboard.experimenting import MOST_ITEMS, USUAL_ITEMS, Foreseen
from batchboard.models import (
    Batch,
    Mode,
    Preparation,
    PreparationKind,
    PreparationState,
    TaskVersion,
    Upload,
    UploadTooLarge,
)
from batchboard.models.batch import GROUP_SIZES
from batchboard.models.preparation import new_preparation_id
from batchboard.models.upload import MAX_UPLOAD_BYTES
from batchboard.views import new_batch
from batchboard.views.new_batch import ask_for_count, counted, store_fields
from batchboard.views.new_fields import Field
from batchboard.views.refusing import operators_only
from batchboard.views.task_choices import task_choices
from batchboard.whole_numbers import whole_number
from dispatch import intake_tasks

FIELDS = re.compile(r"task_type|source|key|n|budget|no_budget|arms|(mode|size|at_once)-\d{1,3}")
SOURCES_OFFERED = 20
LABELS = {
    "items": "Items",
    "source": "Items",
    "key": "Key",
    "task_type": "Task type",
    "n": "Items of each arm",
    "arms": "Arms",
    "budget": "Budget",
}

operators = operators_only("create experiments")


@require_safe
@operators
def new(request: HttpRequest) -> HttpResponse:
    """A fresh form under an address of its own, so that a reload finds it again."""
    query = request.GET.urlencode()
    address = reverse("experiment-form", args=[new_preparation_id()])
    return redirect(f"{address}?{query}" if query else address)


@require_http_methods(["GET", "POST"])
@operators
def form(request: HttpRequest, public_id: str) -> HttpResponse:
    """The form as it stands, after keeping what was typed; htmx gets the part that changes."""
    preparation = _find(request, public_id)
    if request.method == "POST":
        _keep(preparation, request)
    script = "HX-Request" in request.headers
    if preparation.state == PreparationState.DONE and preparation.experiment:
        address = reverse("experiment", args=[preparation.experiment.public_id])
        return HttpResponseClientRedirect(address) if script else redirect(address)
    if request.method == "POST" and not script:
        return redirect("experiment-form", public_id)
    name = "experiments/_form.html" if script else "experiments/new.html"
    return render(request, name, _page(request, preparation))


@require_POST
@operators
def items(request: HttpRequest, public_id: str) -> HttpResponse:
    """Store the file; it is read in the background."""
    preparation = _find(request, public_id)
    if preparation.pk and preparation.state != PreparationState.EDITING:
        return redirect("experiment-form", public_id)
    wrong = _take_file(preparation, request)
    script = "HX-Request" in request.headers
    if not script and not wrong:
        return redirect("experiment-form", public_id)
    context = _page(request, preparation) | {"not_taken": wrong}
    name = "experiments/_form.html" if script else "experiments/new.html"
    return render(request, name, context, status=200 if script else 422)


@require_POST
@operators
def start(request: HttpRequest, public_id: str) -> HttpResponse:
    """Make the experiment, in the background; start it where that was asked for."""
    preparation = _find(request, public_id)
    _keep(preparation, request)
    if not preparation.pk or preparation.state != PreparationState.EDITING:
        return redirect("experiment-form", public_id)
    if prepare_experiment(preparation).problems:
        context = _page(request, preparation, refused=True)
        return render(request, "experiments/new.html", context, status=422)
    won = Preparation.objects.filter(pk=preparation.pk, state=PreparationState.EDITING).update(
        state=PreparationState.STORING,
        starts="start" in request.POST,
        stored=0,
        error=None,
        count_wanted="",
        lease_until=None,
        saved_at=timezone.now(),
    )
    if won:
        transaction.on_commit(intake_tasks.nudge)
    return redirect("experiment-form", public_id)


@require_POST
@operators
def discard(request: HttpRequest, public_id: str) -> HttpResponse:
    """Forget the form and its file."""
    preparation = _find(request, public_id)
    preparation.discard()
    return redirect("experiments")


def _find(request: HttpRequest, public_id: str) -> Preparation:
    """The person's own form; a fresh one is filled with what the address asks for."""
    preparation = new_batch.find(request, public_id, PreparationKind.EXPERIMENT)
    if not preparation.pk:
        preparation.fields = _fresh(request)
    return preparation


def _fresh(request: HttpRequest) -> dict[str, str]:
    """Of `?type=`, a task type, its newest version and the last batch that did something; so many
    items of each as `?items=` says."""
    asked, n = request.GET.get("type", ""), request.GET.get("items", "")
    n = n if n.isascii() and n.isdecimal() and len(n) < 7 else ""
    n = str(min(MOST_ITEMS, max(2, int(n)))) if n else ""
    if not (asked.isascii() and asked.isdecimal() and len(asked) < 10):
        return first_fields(n=n)
    version = TaskVersion.objects.filter(task_type=int(asked)).order_by("-number").first()
    if version is None:
        return first_fields(n=n)
    last = _sources(version).filter(started_at__isnull=False).first()
    return first_fields(str(version.pk), last.public_id if last else "", n)


def _sources(version: TaskVersion) -> Any:
    """Batches whose items could be drawn, the newest first."""
    found = Batch.objects.on_board().filter(version__task_type=version.task_type_id, total__gt=1)
    return found.order_by("-id")


def _keep(preparation: Preparation, request: HttpRequest) -> None:
    """Store what was typed, and add or take away an arm where that button was pressed."""
    if preparation.pk and preparation.state != PreparationState.EDITING:
        return
    given = {name: str(value) for name, value in request.POST.items() if FIELDS.fullmatch(name)}
    if given.get("task_type", "") and whole_number(given["task_type"]) is None:
        del given["task_type"]
    if given:
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
        given = kept | {"arms": ",".join(ids)}
    store_fields(preparation, given)


def _unused(fields: dict[str, str], ids: list[str]) -> str:
    """A mode that no arm has yet, for one more arm."""
    used = {fields.get(f"mode-{one}") for one in ids}
    return next((mode for mode in Mode.values if mode not in used), Mode.CACHED)


def _take_file(preparation: Preparation, request: HttpRequest) -> str:
    """Why the file was not taken, or nothing."""
    file, pasted = request.FILES.get("file"), request.POST.get("pasted", "")
    _keep(preparation, request)
    if file is None and not pasted.strip():
        return "Choose a file, or paste some rows."
    chunks: Iterable[bytes] = [pasted.encode("utf-8", "surrogatepass")]
    name = "-"
    if file is not None:
        name, chunks = file.name or "-", file.chunks()
    try:
        received = Upload.objects.receive(name, chunks, request.user)
    except UploadTooLarge:
        return (
            f"The file is over {MAX_UPLOAD_BYTES // 1_000_000} MB. Divide it into several."
            " Nothing was stored."
        )
    if preparation.give(received):
        new_batch.store_fields(preparation, preparation.fields | {"source": ""})
        transaction.on_commit(intake_tasks.nudge)
    return ""


def _page(
    request: HttpRequest, preparation: Preparation, *, refused: bool = False
) -> dict[str, Any]:
    """All that the form shows; what is merely missing shows as an error once it was `refused`."""
    found = prepare_experiment(preparation)
    problems = found.problems
    wrong = {name: p for name, p in problems.items() if refused or not p.missing}
    foreseen = foresee(preparation, found)
    ask_for_count(preparation, found.base)
    version, upload = found.base.version, preparation.upload
    sources = list(_sources(version)[:SOURCES_OFFERED]) if version else []
    if found.source and found.source not in sources:
        sources.append(found.source)
    return {
        "preparation": preparation,
        "found": found,
        "prepared": found.base,
        "upload": upload,
        "columns": found.base.profile.columns if found.base.profile else [],
        "storing": preparation.state == PreparationState.STORING,
        "sources": sources,
        "task_choices": task_choices(version),
        "modes": [(mode.value, mode.label) for mode in Mode],
        "arms": _arms(found, foreseen),
        "may_add": len(found.rows) < MOST_ARMS,
        "estimate": foreseen,
        "is_short": foreseen is not None
        and found.budget is not None
        and found.budget < foreseen.expected,
        "counted": counted(preparation, found.base),
        "fields": _fields(found, foreseen, wrong),
        "no_budget": bool(found.fields.get("no_budget")),
        "problems": wrong,
        "refused": refused,
        "blocked": bool(problems),
        "wrong": [(name, LABELS[name]) for name in wrong],
        "needed": [(name, LABELS[name]) for name in problems if name not in wrong],
        "unfinished": []
        if preparation.pk
        else new_batch.unfinished(request, PreparationKind.EXPERIMENT),
    }


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
    found: PreparedExperiment, foreseen: Foreseen | None, wrong: dict[str, Any]
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
