"""The form of a new batch: one page, one fragment of it, and what its buttons do."""

import re
from typing import Any

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from batchboard import advice, template
from batchboard.models import (
    Batch,
    Limits,
    Mode,
    Preparation,
    PreparationKind,
    PreparationState,
    TaskVersion,
    UploadState,
)
from batchboard.models.preparation import new_preparation_id
from batchboard.preparing import WRITE, Prepared, foresee, prepare
from batchboard.views import new_fields
from batchboard.views.finish_plot import finish_plot
from batchboard.views.refusing import operators_only
from batchboard.views.task_choices import models, task_choices
from batchboard.views.trying import trials_of
from batchboard.whole_numbers import whole_number
from dispatch import intake_tasks

FIELDS = re.compile(
    r"task_type|key|only_first|mode|schedule|first_look|concurrency|budget|item_timeout|deadline"
    r"|name|suggested|sample_size|priority|unpriced_ok|d-[a-z_]+"
)
ID = re.compile(r"p_[2-9a-z]{10}")
BYTES_PER_TOKEN = 0.3

operators = operators_only("create batches")


@require_safe
@operators
def new(request: HttpRequest) -> HttpResponse:
    """A fresh form under an address of its own, so that a reload finds it again."""
    query = request.GET.urlencode()
    address = reverse("new-batch", args=[new_preparation_id()])
    return redirect(f"{address}?{query}" if query else address)


@require_safe
@operators
def new_batch(request: HttpRequest, public_id: str) -> HttpResponse:
    preparation = find(request, public_id)
    if preparation.state == PreparationState.DONE and preparation.batch:
        return redirect("batch", preparation.batch.public_id)
    if not preparation.pk and whole_number(request.GET.get("task_type", "")):
        preparation.fields = {"task_type": request.GET["task_type"]}
    return render(request, "new/new.html", page(request, preparation))


@require_http_methods(["GET", "POST"])
@operators
def new_form(request: HttpRequest, public_id: str) -> HttpResponse:
    """The form as it stands, after keeping what was typed."""
    preparation = find(request, public_id)
    if request.method == "POST":
        keep(preparation, request)
    if preparation.state == PreparationState.DONE and preparation.batch:
        return HttpResponseClientRedirect(reverse("batch", args=[preparation.batch.public_id]))
    return render(request, "new/_form.html", page(request, preparation))


@require_POST
@operators
def new_start(request: HttpRequest, public_id: str) -> HttpResponse:
    """Make the batch, in the background; start it where that was asked for."""
    preparation = find(request, public_id)
    keep(preparation, request)
    if not preparation.pk or preparation.state != PreparationState.EDITING:
        return redirect("new-batch", public_id)
    prepared = prepare(preparation)
    if prepared.problems:
        context = page(request, preparation, refused=True)
        return render(request, "new/new.html", context, status=422)
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
    return redirect("new-batch", public_id)


@require_POST
@operators
def new_discard(request: HttpRequest, public_id: str) -> HttpResponse:
    """Forget the form and its file."""
    preparation = find(request, public_id)
    preparation.discard()
    return redirect("board")


def find(
    request: HttpRequest, public_id: str, kind: PreparationKind = PreparationKind.BATCH
) -> Preparation:
    """The person's own form at this address, unsaved where nothing was kept yet."""
    if not ID.fullmatch(public_id):
        raise Http404
    found = (
        Preparation.objects.filter(public_id=public_id)
        .select_related("upload", "batch", "trial__version__task_type", "owner")
        .first()
    )
    if found is None:
        return Preparation(public_id=public_id, owner=request.user, kind=kind)  # type: ignore[misc]
    if found.owner_id != request.user.pk or found.kind != kind:
        raise Http404
    return found


def keep(preparation: Preparation, request: HttpRequest) -> None:
    """Store what was typed, while the form may still change."""
    if preparation.pk and preparation.state != PreparationState.EDITING:
        return
    store_fields(preparation, _given(preparation, request))


def _given(preparation: Preparation, request: HttpRequest) -> dict[str, str]:
    """The fields as they are now; nothing where none were sent."""
    given = {name: str(value) for name, value in request.POST.items() if FIELDS.fullmatch(name)}
    if not given:
        return {}
    if given.get("task_type") == WRITE != preparation.fields.get("task_type"):
        given = _filled_from(preparation.fields.get("task_type", "")) | given
    return {k: v for k, v in preparation.fields.items() if k.startswith("d-")} | given


def store_fields(preparation: Preparation, fields: dict[str, str]) -> None:
    """Write a form down, with other fields where there are any."""
    if fields:
        preparation.fields, preparation.error = fields, None
    preparation.saved_at = timezone.now()
    if preparation.pk:
        # Not where another request has started it meanwhile: what was asked for then holds.
        Preparation.objects.filter(pk=preparation.pk, state=PreparationState.EDITING).update(
            fields=preparation.fields,
            saved_at=preparation.saved_at,
            **({"error": None} if fields else {}),
        )
        return
    # Two requests of a fresh form may come at once: the later one wins, as it would later on.
    stored, _ = Preparation.objects.update_or_create(
        public_id=preparation.public_id,
        owner=preparation.owner,
        kind=preparation.kind,
        defaults={"fields": preparation.fields, "saved_at": preparation.saved_at},
    )
    preparation.pk = stored.pk
    preparation._state.adding = False


def _filled_from(version: str) -> dict[str, str]:
    """The editor starts from the version that was chosen before."""
    from batchboard import definition_form

    versions = TaskVersion.objects.select_related("task_type")
    found = versions.filter(pk=whole_number(version) or 0).first()
    return definition_form.write(found.definition) if found else {}


def page(
    request: HttpRequest, preparation: Preparation, *, refused: bool = False
) -> dict[str, Any]:
    """All that the form shows; what is merely missing shows as an error once it was `refused`."""
    prepared = prepare(preparation)
    problems = prepared.problems
    wrong = {name: p for name, p in problems.items() if refused or not p.missing}
    limits = Limits.objects.current()
    estimate = foresee(preparation, prepared, limits)
    ask_for_count(preparation, prepared)
    n = advice.at_once(prepared, limits)
    upload = preparation.upload
    context: dict[str, Any] = {
        "preparation": preparation,
        "prepared": prepared,
        "upload": upload,
        "storing": preparation.state == PreparationState.STORING,
        "estimate": estimate,
        "counted": counted(preparation, prepared),
        "advice": advice.advice(prepared, estimate, limits, ran=_ran(prepared))
        if preparation.state == PreparationState.EDITING
        else [],
        "fields": new_fields.fields(prepared, estimate, limits),
        "choices": new_fields.choices(prepared),
        "n": n,
        "rows": _preview(preparation, prepared),
        "prompt": _prompt(preparation, prepared),
        "task_choices": task_choices(prepared.version),
        "writes": prepared.fields.get("task_type") == WRITE,
        "editor": prepared.fields,
        "problems": wrong,
        "refused": refused,
        "labels": LABELS,
        "models": models(),
        "unlisted_model": _unlisted(prepared.fields.get("d-model", "")),
        "columns": prepared.profile.columns if prepared.profile else [],
        "placeholders": [f"{{{{ {name} }}}}" for name in prepared.profile.names()]
        if prepared.profile
        else [],
        "blocked": bool(problems),
        "wrong": [(name, LABELS[name]) for name in wrong],
        "needed": [(name, LABELS[name]) for name in problems if name not in wrong],
        "trial": trials_of([preparation.trial])[0] if preparation.trial else None,
        "unfinished": [] if preparation.pk else unfinished(request),
    }
    if estimate is not None:
        most = max(2, min(limits.cap, prepared.rows), n)
        if prepared.options.mode != Mode.PROVIDER_BATCH:
            context["plot"] = finish_plot(estimate, prepared.rows, n, most)
        if estimate.expected is not None:
            context["per_task"] = estimate.expected / prepared.rows
    return context


LABELS = {
    "items": "Items",
    "key": "Key",
    "task_type": "Task type",
    "only_first": "Only the first rows",
    "concurrency": "Calls at once",
    "budget": "Budget",
    "item_timeout": "Item timeout",
    "deadline": "Deadline",
    "name": "Name",
    "sample_size": "Sample",
    "unpriced_ok": "Price",
    "d-name": "Task type name",
    "d-model": "Model",
    "d-system": "Shared context",
    "d-prompt": "Prompt",
    "d-max_tokens": "Most output tokens",
    "d-key": "Key column",
    "d-check": "What a reviewer checks",
    "d-contract": "Output contract",
}


def ask_for_count(preparation: Preparation, prepared: Prepared) -> None:
    """Let the provider count in the background, once for each definition and file."""
    upload = preparation.upload
    if not preparation.pk or upload is None or prepared.profile is None:
        return
    if prepared.definition is None or prepared.problems:
        return
    wanted = prepared.count_key(upload)
    if wanted in {preparation.count_wanted, (preparation.counted or {}).get("digest")}:
        return
    Preparation.objects.filter(pk=preparation.pk).update(count_wanted=wanted)
    transaction.on_commit(intake_tasks.nudge)


def counted(preparation: Preparation, prepared: Prepared) -> bool:
    """Whether the provider counted for what the form has now."""
    upload, stored = preparation.upload, preparation.counted or {}
    if upload is None or prepared.definition is None or not stored.get("bytes"):
        return False
    return bool(stored.get("digest") == prepared.count_key(upload))


def _unlisted(model: str) -> str:
    """A model that the list does not name, so that the form can keep it."""
    return "" if model in {one.name for one in models()} else model


def _ran(prepared: Prepared) -> bool:
    """Whether a batch of the task type ever ran; a trial of one item proves little."""
    if prepared.definition is None:
        return False
    named = Batch.objects.on_board().filter(version__task_type__name=prepared.definition.name)
    return named.filter(started_at__isnull=False).exists()


def _preview(preparation: Preparation, prepared: Prepared) -> list[tuple[list[str], int | None]]:
    """The first rows as texts, with the input tokens that each will need, about."""
    upload = preparation.upload
    if upload is None or upload.state != UploadState.READY:
        return []
    ratio = _tokens_per_byte(preparation, prepared)
    found = []
    for row in upload.head:
        tokens = None
        if prepared.definition is not None:
            size = len(template.render(prepared.definition.prompt, row).encode())
            tokens = round(size * ratio)
        cells = [template.as_text(row.get(name)) for name in upload.columns]
        found.append((cells, tokens))
    return found


def _tokens_per_byte(preparation: Preparation, prepared: Prepared) -> float:
    if counted(preparation, prepared):
        stored = preparation.counted or {}
        return float(stored["tokens"] / stored["bytes"])
    return BYTES_PER_TOKEN


def _prompt(preparation: Preparation, prepared: Prepared) -> list[tuple[str, bool]]:
    """The first item's prompt, with what came from the item told apart."""
    upload = preparation.upload
    if not prepared.prompt:
        return []
    row = upload.head[0] if upload is not None and upload.head else None
    return [(prepared.prompt, False)] if row is None else template.parts(prepared.prompt, row)


def unfinished(
    request: HttpRequest, kind: PreparationKind = PreparationKind.BATCH
) -> list[Preparation]:
    """The person's latest forms that have a file."""
    return list(
        Preparation.objects.filter(owner=request.user, state=PreparationState.EDITING, kind=kind)  # type: ignore[misc]
        .exclude(upload=None)
        .select_related("upload")
        .order_by("-saved_at")[:3]
    )
