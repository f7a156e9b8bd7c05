"""Writing a task type: a new one, a new version, or one from a TOML file."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from batchboard import definition_form, intake
from batchboard.definition_form import PREFIX, Problem
from batchboard.models import TaskType, TaskVersion, VersionConflict
from batchboard.task_file import TaskFileError
from batchboard.views.differing import changes
from batchboard.views.refusing import operators_only
from batchboard.views.requests import is_fragment
from batchboard.views.task_choices import models
from batchboard.whole_numbers import whole_number

operators = operators_only("write task types")
LARGEST_FILE = 5_000_000


@require_http_methods(["GET", "POST"])
@operators
def new_task_type(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _save(request, None)
    return _show(request, None, {PREFIX + "max_tokens": "300"}, base=0)


@require_http_methods(["GET", "POST"])
@operators
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """The newest version, or the one asked for, as the text of the next."""
    task_type = get_object_or_404(TaskType, pk=pk)
    if request.method == "POST":
        return _save(request, task_type)
    versions = task_type.versions.select_related("task_type").order_by("-number")
    asked = whole_number(request.GET.get("version", "")) or 0
    newest = versions[0]
    start = versions.filter(number=asked).first()
    return _show(
        request, task_type, definition_form.write((start or newest).definition), newest.number
    )


@require_POST
@operators
def from_file(request: HttpRequest) -> HttpResponse:
    """Fill the form from a TOML file; nothing is stored yet."""
    file = request.FILES.get("toml")
    task_type = TaskType.objects.filter(pk=whole_number(request.POST.get("of", "")) or 0).first()
    fields = _fields(request)
    try:
        if file is None or (file.size or 0) > LARGEST_FILE:
            raise TaskFileError("Choose a TOML file of at most 5 MB.")
        definition = intake.read_task_file(file.read())
    except TaskFileError as wrong:
        return _show(
            request, task_type, fields, _base(request),
            file_error=f"{wrong} Nothing was stored.", status=422,
        )  # fmt: skip
    filled = definition_form.write(definition)
    if task_type is not None:
        filled[PREFIX + "name"] = task_type.name
    return _show(request, task_type, filled, _base(request), filled_from=file.name)


def _save(request: HttpRequest, task_type: TaskType | None) -> HttpResponse:
    fields = _fields(request)
    if task_type is not None:
        fields[PREFIX + "name"] = task_type.name
    definition, problems = definition_form.read(fields)
    taken = None if task_type else TaskType.objects.filter(name=_name(fields)).first()
    if taken is not None:
        problems |= {PREFIX + "name": Problem("There is a task type of that name already.")}
    if is_fragment(request):
        return _show(request, task_type, fields, _base(request), problems)
    if definition is None:
        return _show(request, task_type, fields, _base(request), problems, status=422)
    if taken is not None:
        return _show(request, None, fields, 0, problems, taken=taken, status=409)
    try:
        version = TaskVersion.objects.for_definition(definition, request.user, _base(request))
    except VersionConflict as conflict:
        if task_type is None:  # somebody took the name between our look and our write
            return _show(request, None, fields, 0, taken=conflict.newest.task_type, status=409)
        return _show(
            request, task_type, fields, conflict.newest.number, conflict=conflict.newest, status=409
        )
    note = definition_form.contract_advice(fields[PREFIX + "contract"])
    messages.success(request, f"Stored as {version}. {note}".strip())
    return redirect("task-type", version.task_type_id)


def _show(
    request: HttpRequest,
    task_type: TaskType | None,
    fields: Mapping[str, str],
    base: int,
    problems: Mapping[str, Problem] | None = None,
    *,
    status: int = 200,
    conflict: TaskVersion | None = None,
    **more: Any,
) -> HttpResponse:
    listed = models()
    model = fields.get(PREFIX + "model", "")
    context = {
        "task_type": task_type,
        "only_new": task_type is None,
        "fixed_name": task_type.name if task_type else "",
        "editor": dict(fields),
        "problems": dict(problems or {}),
        "labels": definition_form.LABELS,
        "models": listed,
        "unlisted_model": model if model not in {one.name for one in listed} else "",
        "base": base,
        "next": base + 1,
        "refused": status == 422 and not more,
        "conflict": conflict,
        "changes": changes(definition_form.write(conflict.definition), fields) if conflict else [],
        **more,
    }
    fragment = is_fragment(request)
    page = "task_types/_editor.html" if fragment else "task_types/edit.html"
    return render(request, page, context, status=status)


def _fields(request: HttpRequest) -> dict[str, str]:
    return {
        PREFIX + name: request.POST.get(PREFIX + name, "").replace("\r\n", "\n")
        for name in definition_form.NAMES
    }


def _name(fields: Mapping[str, str]) -> str:
    return fields[PREFIX + "name"].strip()


def _base(request: HttpRequest) -> int:
    return whole_number(request.POST.get("base", "")) or 0
