"""Pages of what recurs: the list, one with its history, its form, and what people do with it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from batchboard.cron import CronError, zones
from batchboard.definition_form import Problem
from batchboard.models import Batch, Event, Recurring, RecurringRun, Upload, UploadTooLarge
from batchboard.models.changing import NotPossible
from batchboard.models.recurring_run import runs_newest
from batchboard.models.upload import MAX_UPLOAD_BYTES
from batchboard.roles import NEEDED, NotAllowed, Right, may
from batchboard.states import MoveRefused
from batchboard.views import recurring_fields
from batchboard.views.people_words import Said
from batchboard.views.recurring_form import RecurringForm, changes, of_batch, of_standing, read
from batchboard.views.recurring_form import times_of as times_said
from batchboard.views.recurring_words import said
from batchboard.views.refusing import operators_only
from dispatch import intake_tasks

RUNS_SHOWN = 50
EVENTS_SHOWN = 10
TIMES_SHOWN = 5

operators = operators_only("make batches recur")


@dataclass(frozen=True)
class Line:
    """One in the list: when it recurs in words, and how its newest run went."""

    recurring: Recurring
    words: str
    following: str
    run: RecurringRun | None


@require_safe
def recurrings(request: HttpRequest) -> HttpResponse:
    found = list(_all().order_by("-enabled", "next_at", "name"))
    newest = runs_newest([recurring.pk for recurring in found])
    lines = [_line(recurring, newest.get(recurring.pk)) for recurring in found]
    context = {"lines": lines, "may_operate": may(request.user, Right.OPERATE)}
    return render(request, "recurring/list.html", context)


@require_safe
def recurring(request: HttpRequest, public_id: str) -> HttpResponse:
    return render(request, "recurring/recurring.html", _page(request, public_id))


@require_safe
def recurring_live(request: HttpRequest, public_id: str) -> HttpResponse:
    return render(request, "recurring/_live.html", _page(request, public_id))


@require_http_methods(["GET", "POST"])
@operators
def recurring_new(request: HttpRequest) -> HttpResponse:
    """GET: a fresh form, of the batch that is to be repeated where one is named."""
    if request.method == "POST":
        form = _sent(request, None)
        made = None if form.problems else _save(request, form)
        if made is not None:
            messages.success(request, f"{made.name}: on.")
            return redirect("recurring", made.public_id)
        return _form(request, form, status=422)
    batch = None
    if batch_id := request.GET.get("batch", ""):
        batch = get_object_or_404(Batch.objects.arrived(), public_id=batch_id)
    return _form(request, of_batch(batch, request.user))  # type: ignore[arg-type]


@require_http_methods(["GET", "POST"])
@operators
def recurring_edit(request: HttpRequest, public_id: str) -> HttpResponse:
    found = _find(public_id)
    if request.method == "POST":
        form = _sent(request, found)
        if not form.problems and _save(request, form) is not None:
            return redirect("recurring", public_id)
        return _form(request, form, status=422)
    return _form(request, of_standing(found, request.user))  # type: ignore[arg-type]


@require_safe
def recurring_times(request: HttpRequest) -> HttpResponse:
    """What an expression means, while it is typed."""
    times, wrong = times_said(request.GET.get("cron", "")[:200], request.GET.get("zone", "")[:100])
    return render(request, "recurring/_times.html", _times(times, wrong))


def _verb(verb: Callable[[Recurring, HttpRequest], str]) -> Callable[..., HttpResponse]:
    @require_POST
    @operators
    def view(request: HttpRequest, public_id: str) -> HttpResponse:
        found = _find(public_id)
        try:
            messages.success(request, verb(found, request))
        except NotAllowed:
            raise
        except (MoveRefused, CronError) as refusal:
            messages.error(request, str(refusal))
        return redirect("recurring", public_id) if found.pk else redirect("recurrings")

    return view


def _pause(found: Recurring, request: HttpRequest) -> str:
    found.pause(by=request.user)
    return f"{found.name}: paused."


def _resume(found: Recurring, request: HttpRequest) -> str:
    found.resume(by=request.user)
    return f"{found.name}: on."


def _run(found: Recurring, request: HttpRequest) -> str:
    found.run_now(by=request.user)
    transaction.on_commit(intake_tasks.nudge)
    return f"{found.name}: its batch is being made."


def _remove(found: Recurring, request: HttpRequest) -> str:
    found.remove(by=request.user)
    return f"{found.name}: deleted. Its batches stay."


recurring_pause = _verb(_pause)
recurring_resumption = _verb(_resume)
recurring_run = _verb(_run)
recurring_deletion = _verb(_remove)


def _all() -> QuerySet[Recurring]:
    related = ("task_type", "version", "upload", "source_batch", "owner")
    return Recurring.objects.select_related(*related)


def _find(public_id: str) -> Recurring:
    return get_object_or_404(_all(), public_id=public_id)


def _line(found: Recurring, run: RecurringRun | None) -> Line:
    times, wrong = times_said(found.cron, found.zone)
    following = times.here(found.next_at) if times and found.next_at else ""
    return Line(found, times.words() if times else wrong, following, run)


def _page(request: HttpRequest, public_id: str) -> dict[str, Any]:
    found = _find(public_id)
    runs = list(found.runs.select_related("batch", "asked_by")[:RUNS_SHOWN])
    times, wrong = times_said(found.cron, found.zone)
    newest = runs[0] if runs else None
    able = may(request.user, found.right)
    return {
        "recurring": found,
        "line": _line(found, newest),
        "runs": [(run, times.here(run.due_at) if times else run.due_at) for run in runs],
        "failed": newest if newest and newest.state == "failed" else None,
        "being_made": newest is not None and newest.state == "waiting",
        "changes": _changes(found),
        "able": able,
        "who_may": "" if able else f"Only {NEEDED[found.right]} may.",
        "may_operate": may(request.user, Right.OPERATE),
        "version": found.version or found.task_type.versions.latest("number"),
    } | _times(times, wrong)


def _times(times: Any, wrong: str) -> dict[str, Any]:
    upcoming = list(times.upcoming(timezone.now(), TIMES_SHOWN)) if times else []
    return {
        "words": times.words() if times else "",
        "upcoming": [times.here(moment) for moment in upcoming],
        "wrong_times": wrong,
    }


def _changes(found: Recurring) -> list[Said]:
    events = Event.objects.filter(batch=None, verb__startswith="recurring.")
    events = events.filter(detail__recurring=found.public_id).select_related("actor")
    return [said(event) for event in events.order_by("-id")[:EVENTS_SHOWN]]


def _sent(request: HttpRequest, standing: Recurring | None) -> RecurringForm:
    """The form that was sent; a file in it is stored first, so that nothing else that is wrong
    loses it."""
    given = request.POST.dict()
    wrong = ""
    file = request.FILES.get("file")
    if file is not None and given.get("source") == "upload":
        try:
            stored = Upload.objects.receive(file.name or "-", file.chunks(), request.user)
        except UploadTooLarge:
            wrong = f"The file is over {MAX_UPLOAD_BYTES // 1_000_000} MB."
        else:
            given["file_id"] = stored.public_id
            transaction.on_commit(intake_tasks.nudge)
    form = read(given, request.user, standing)  # type: ignore[arg-type]
    if wrong:
        form.problems["source"] = Problem(wrong)
    return form


def _save(request: HttpRequest, form: RecurringForm) -> Recurring | None:
    try:
        if form.standing is None:
            return Recurring.objects.make(form.options, by=request.user, **form.values)
        if form.standing.change(by=request.user, **changes(form)):
            messages.success(request, f"{form.standing.name}: saved.")
    except NotPossible as wrong:
        form.problems[wrong.field] = Problem(str(wrong))
        return None
    return form.standing


def _form(request: HttpRequest, form: RecurringForm, status: int = 200) -> HttpResponse:
    if form.standing is not None and not may(request.user, form.standing.right):
        raise NotAllowed(f"Only {NEEDED[form.standing.right]} may change {form.standing.name}.")
    if form.fields.get("batch_id") and form.batch is None and status == 200:
        raise Http404
    context = {
        "form": form,
        "fields": recurring_fields.text_fields(form),
        "choices": recurring_fields.choices(form),
        "tasks": recurring_fields.tasks(),
        "commands": recurring_fields.commands(),
        "sources": recurring_fields.sources(form),
        "zones": zones(),
        "problems": form.problems,
    } | _times(*form.times())
    if form.problems.keys() & {"cron", "zone"}:
        context["wrong_times"] = ""  # it stands at its field
    return render(request, "recurring/form.html", context, status=status)
