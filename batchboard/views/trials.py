"""Trying one item: a batch of one that runs as any other does, against the same cap and budget."""

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from batchboard import intake, template
from batchboard.ingest import IngestError
from batchboard.models import (
    Batch,
    NewItem,
    Preparation,
    RunOptions,
    TaskVersion,
    User,
)
from batchboard.preparing import prepare
from batchboard.views.new_batch import FORM, operators
from batchboard.views.trial_results import trials_of
from batchboard.whole_numbers import whole_number

PRIORITY = 10
LONGEST_INPUT = 200_000


@require_POST
@operators
def task_type_trial(request: HttpRequest, pk: int) -> HttpResponse:
    """Try a version with what was typed for each of its columns."""
    version = get_object_or_404(
        TaskVersion.objects.select_related("task_type"),
        task_type=pk,
        number=whole_number(request.POST.get("version", "")) or 0,
    )
    row = {
        name: request.POST.get(f"in-{name}", "")[:LONGEST_INPUT]
        for name in template.columns(version.prompt)
    }
    try_one(version, row, request.user)
    return redirect(f"{reverse('task-type', args=[pk])}?version={version.number}#trials")


@require_POST
@operators
def new_batch_trial(request: HttpRequest, public_id: str) -> HttpResponse:
    """Try the first row of the file with the task type of the form."""
    preparation = FORM.find(request, public_id)
    FORM.keep(preparation, request)
    prepared = prepare(preparation)
    if prepared.definition is None or preparation.upload is None or prepared.profile is None:
        return FORM.render(request, preparation, refused=True)
    try:
        row = intake.first_rows(prepared.items(preparation.upload))[0]
    except IngestError:
        return redirect("new-batch", public_id)
    version = TaskVersion.objects.for_definition(prepared.definition, request.user)
    options = prepared.options
    batch = try_one(version, row, request.user, options.mode, unpriced_ok=options.unpriced_ok)
    Preparation.objects.filter(pk=preparation.pk).update(trial=batch)
    return redirect(f"{reverse('new-batch', args=[public_id])}#trial")


@require_safe
def trial(request: HttpRequest, public_id: str) -> HttpResponse:
    batch = get_object_or_404(
        Batch.objects.filter(trial=True).select_related("version__task_type"), public_id=public_id
    )
    return render(request, "task_types/_trial.html", {"trial": trials_of([batch])[0]})


def try_one(
    version: TaskVersion,
    row: dict[str, Any],
    by: "User | Any",
    mode: str = "single",
    *,
    unpriced_ok: bool = False,
) -> Batch:
    """Send one item now, before what waits."""
    size = len(template.render(version.prompt, row).encode())
    with transaction.atomic():
        batch = Batch.objects.create_with_items(
            name=f"Trial of {version}"[:200],
            version=version,
            items=[NewItem("1", row, size)],
            options=RunOptions(
                mode=mode, concurrency=1, priority=PRIORITY, unpriced_ok=unpriced_ok
            ),
            by=by,
            trial=True,
        )
        batch.start(by)
    return batch
