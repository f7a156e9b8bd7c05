"""The form of a new batch: what it shows, and its addresses."""

import re
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from batchboard import advice, definition_form
from batchboard.definition_form import PREFIX, Problem
from batchboard.models import Batch, Limits, Mode, Preparation, PreparationKind, TaskVersion
from batchboard.preparing import WRITE, Prepared, counted, foresee, prepare
from batchboard.templatetags.figures import count
from batchboard.views import new_fields, new_preview
from batchboard.views.finish_plot import finish_plot
from batchboard.views.kept_form import KeptForm, ask_for_count
from batchboard.views.refusing import operators_only
from batchboard.views.task_choices import models, task_choices
from batchboard.views.trial_results import trials_of
from batchboard.whole_numbers import whole_number

FIELDS = re.compile(
    r"task_type|key|only_first|mode|schedule|first_look|concurrency|budget|item_timeout|deadline"
    r"|group_size|session_timeout|name|suggested|sample_size|priority|unpriced_ok|d-[a-z_]+"
)
LABELS = {
    "items": "Items",
    "key": "Key",
    "task_type": "Task type",
    "only_first": "Only the first rows",
    "concurrency": "Calls at once",
    "budget": "Budget",
    "item_timeout": "Item timeout",
    "deadline": "Deadline",
    "group_size": "Items together",
    "session_timeout": "Session timeout",
    "name": "Name",
    "sample_size": "Sample",
    "unpriced_ok": "Price",
    **{PREFIX + name: label for name, label in definition_form.LABELS.items()},
    f"{PREFIX}name": "Task type name",
}

operators = operators_only("create batches")


class NewBatch(KeptForm[Prepared]):
    kind = PreparationKind.BATCH
    title = "New batch"
    prefix = "new"
    address = "new-batch"
    left_to = "board"
    part = "new/_form.html"
    labels = LABELS

    def first_fields(self, request: HttpRequest) -> dict[str, str]:
        asked = request.GET.get("task_type", "")
        return {"task_type": asked} if whole_number(asked) else {}

    def sent_fields(self, preparation: Preparation, request: HttpRequest) -> dict[str, str]:
        """What was sent, with the definition that was written where its editor is not shown."""
        given = {name: str(value) for name, value in request.POST.items() if FIELDS.fullmatch(name)}
        if not given:
            return {}
        before = preparation.fields
        if given.get("task_type") == WRITE != before.get("task_type"):
            given = _filled_from(before.get("task_type", "")) | given
        return {name: text for name, text in before.items() if name.startswith(PREFIX)} | given

    def read(self, preparation: Preparation) -> Prepared:
        return prepare(preparation)

    def made(self, preparation: Preparation) -> str | None:
        made = preparation.batch
        return reverse("batch", args=[made.public_id]) if made else None

    def shown(
        self, preparation: Preparation, read: Prepared, wrong: Mapping[str, Problem]
    ) -> dict[str, Any]:
        limits = Limits.objects.current()
        estimate = foresee(preparation, read, limits)
        ask_for_count(preparation, read)
        n = advice.at_once(read, limits)
        context: dict[str, Any] = {
            "prepared": read,
            "estimate": estimate,
            "counted": bool(counted(preparation, read).bytes),
            "advice": advice.advice(read, estimate, limits, ran=_ran(read))
            if preparation.may_change
            else [],
            "fields": new_fields.fields(read, estimate, limits),
            "choices": new_fields.choices(read),
            "n": n,
            "what": f"{count(read.rows)} item{pluralize(read.rows)}" if read.rows else "the batch",
            "rows": new_preview.rows(preparation, read),
            "prompt": new_preview.prompt(preparation, read),
            "task_choices": task_choices(read.version),
            "writes": read.fields.get("task_type") == WRITE,
            "editor": read.fields,
            "models": models(),
            "unlisted_model": _unlisted(read.fields.get("d-model", "")),
            "columns": read.profile.columns if read.profile else [],
            "placeholders": [f"{{{{ {name} }}}}" for name in read.profile.names()]
            if read.profile
            else [],
            "trial": trials_of([preparation.trial])[0] if preparation.trial else None,
        }
        if estimate is not None:
            most = max(2, min(limits.cap, read.rows), n)
            if read.options.mode != Mode.PROVIDER_BATCH:
                context["plot"] = finish_plot(estimate, read.rows, n, most)
            if estimate.expected is not None:
                context["per_task"] = estimate.expected / read.rows
        return context


FORM = NewBatch()


@require_safe
@operators
def new(request: HttpRequest) -> HttpResponse:
    return FORM.begin(request)


@require_safe
@operators
def new_batch(request: HttpRequest, public_id: str) -> HttpResponse:
    return FORM.show(request, public_id, part=False)


@require_http_methods(["GET", "POST"])
@operators
def new_form(request: HttpRequest, public_id: str) -> HttpResponse:
    return FORM.show(request, public_id, part=True)


@require_POST
@operators
def new_items(request: HttpRequest, public_id: str) -> HttpResponse:
    return FORM.take_items(request, public_id)


@require_POST
@operators
def new_start(request: HttpRequest, public_id: str) -> HttpResponse:
    return FORM.start(request, public_id)


@require_POST
@operators
def new_discard(request: HttpRequest, public_id: str) -> HttpResponse:
    return FORM.discard(request, public_id)


def _filled_from(version: str) -> dict[str, str]:
    """The editor starts from the version that was chosen before."""
    found = (
        TaskVersion.objects.select_related("task_type")
        .filter(pk=whole_number(version) or 0)
        .first()
    )
    return definition_form.write(found.definition) if found else {}


def _unlisted(model: str) -> str:
    """A model that the list does not name, so that the form can keep it."""
    return "" if model in {one.name for one in models()} else model


def _ran(prepared: Prepared) -> bool:
    """Whether a batch of the task type ever ran; a trial of one item proves little."""
    if prepared.definition is None:
        return False
    named = Batch.objects.on_board().filter(version__task_type__name=prepared.definition.name)
    return named.filter(started_at__isnull=False).exists()
