"""Task types: the list, and the page of one with its versions and what changed between them."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Max, Q, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from batchboard import template
from batchboard.definition_form import LABELS, PREFIX, write
from batchboard.models import Batch, TaskType, TaskVersion
from batchboard.money import decimals_of
from batchboard.roles import Right, may
from batchboard.task_toml import NotWritable, dump
from batchboard.views.differing import Change, changes
from batchboard.views.failures import routing
from batchboard.views.trial_results import trials_of
from batchboard.whole_numbers import whole_number

TRIALS_SHOWN = 5


@dataclass(frozen=True)
class Line:
    """A task type in the list."""

    newest: TaskVersion
    batches: int
    last_used: Any
    per_task: Decimal | None


@require_safe
def task_types(request: HttpRequest) -> HttpResponse:
    newest = (
        TaskVersion.objects.annotate(last=Max("task_type__versions__number"))
        .filter(number=F("last"))
        .select_related("task_type")
        .defer("system", "prompt", "contract", "check_list")
        .order_by("task_type__name")
    )
    used = _used()
    lines = [
        Line(
            version,
            found.get("batches", 0),
            found.get("last_used"),
            found["cost"] / found["tasks"] if found.get("tasks") else None,
        )
        for version in newest
        for found in [used.get(version.task_type_id, {})]
    ]
    context = {
        "lines": lines,
        "decimals": decimals_of(line.per_task for line in lines),
        "may_operate": may(request.user, Right.OPERATE),
    }
    return render(request, "task_types/list.html", context)


@require_safe
def task_type(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(TaskType, pk=pk)
    versions = list(
        found.versions.select_related("created_by", "task_type")
        .annotate(
            number_of_batches=Count(
                "batches", filter=Q(batches__trial=False, batches__experimental=False)
            )
        )
        .order_by("-number")
    )
    if not versions:
        raise Http404
    by_number = {version.number: version for version in versions}
    shown = by_number.get(_number(request, "version"), versions[0])
    older = by_number.get(_number(request, "from"))
    newer = by_number.get(_number(request, "to"), versions[0])
    trials = (
        Batch.objects.filter(trial=True, version__task_type=found)
        .select_related("version__task_type")
        .order_by("-id")[:TRIALS_SHOWN]
    )
    context = {
        "task_type": found,
        "versions": versions,
        "shown": shown,
        "older": older,
        "newer": newer,
        "changes": _changes(older, newer) if older and older != newer else None,
        "texts": [
            (LABELS[name.removeprefix(PREFIX)], text)
            for name, text in write(shown.definition).items()
            if text and name.removeprefix(PREFIX) in {"system", "prompt", "contract", "check"}
        ],
        "inputs": sorted(template.columns(shown.prompt)),
        "trials": trials_of(list(trials)),
        "may_operate": may(request.user, Right.OPERATE),
        "used": _used(found.pk).get(found.pk, {}),
        "routing": routing(),
    }
    return render(request, "task_types/task_type.html", context)


@require_safe
def toml(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """One version as a file that can be given back."""
    version = get_object_or_404(
        TaskVersion.objects.select_related("task_type"), task_type=pk, number=number
    )
    try:
        text = dump(version.definition)
    except NotWritable as wrong:
        return HttpResponse(str(wrong), status=409, content_type="text/plain; charset=utf-8")
    response = HttpResponse(text, content_type="application/toml; charset=utf-8")
    name = f"{slugify(version.task_type.name) or 'task-type'}-v{number}.toml"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _used(only: int | None = None) -> dict[int, dict[str, Any]]:
    """What batches of each task type did so far; trials count in neither cost nor number."""
    batches = Batch.objects.on_board().order_by()
    if only is not None:
        batches = batches.filter(version__task_type=only)
    rows = batches.values("version__task_type").annotate(
        batches=Count("id"),
        last_used=Max("started_at"),
        cost=Sum("cost"),
        tasks=Sum("succeeded") + Sum("dead"),
    )
    return {row["version__task_type"]: dict(row) for row in rows}


def _changes(older: TaskVersion, newer: TaskVersion) -> list[Change]:
    return changes(write(older.definition), write(newer.definition))


def _number(request: HttpRequest, name: str) -> int:
    return whole_number(request.GET.get(name, "")) or 0
