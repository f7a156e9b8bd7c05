"""Who may sign in and what they may do, for administrators."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from batchboard.forms import NewPersonForm, RolesForm
from batchboard.models import Event, User
from batchboard.roles import Right, Role, require
from batchboard.states import MoveRefused
from batchboard.views.people_words import Said, said

EVENTS_SHOWN = 20

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def _for_administrators(view: View[P]) -> View[P]:
    """One-time passwords pass through these pages, so nothing between keeps a copy."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        require(request.user, Right.ADMINISTER, "see and change who may do what")
        return view(request, *args, **kwargs)

    return never_cache(guarded)


@_for_administrators
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("password")
def people(request: HttpRequest) -> HttpResponse:
    """Everybody, and a form for somebody new. The one-time password is in the answer to the POST
    and nowhere else: who reloads the page does not see it again."""
    form = NewPersonForm(request.POST or None)
    added, password = None, ""
    if request.method == "POST" and form.is_valid():
        added, password = User.objects.add_person(
            form.cleaned_data["username"],
            form.chosen(),
            first_name=form.cleaned_data["first_name"],
            last_name=form.cleaned_data["last_name"],
            by=request.user,
        )
        form = NewPersonForm()
    return render(
        request,
        "people/people.html",
        {
            "people": _everybody(),
            "form": form,
            "person": added,
            "password": password,
            "changes": _changes(),
        },
        status=422 if form.errors else 200,
    )


@_for_administrators
@require_safe
def person(request: HttpRequest, pk: int) -> HttpResponse:
    return _person(request, get_object_or_404(_everybody(), pk=pk))


@_for_administrators
@require_POST
def person_roles(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(_everybody(), pk=pk)
    form = RolesForm(request.POST)
    if not form.is_valid():
        messages.error(request, "There is no such role. Nothing was changed.")
    else:
        _change(request, found, lambda: found.change_roles(form.chosen(), by=request.user))
    return redirect("person", pk)


@_for_administrators
@require_POST
def person_access(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(_everybody(), pk=pk)
    verb = found.switch_on if request.POST.get("may") == "yes" else found.switch_off
    _change(request, found, lambda: verb(by=request.user))
    return redirect("person", pk)


@_for_administrators
@require_POST
@sensitive_variables("password")
def person_password(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(_everybody(), pk=pk)
    password = found.renew_password(by=request.user)
    return _person(request, found, password)


def _person(request: HttpRequest, found: User, password: str = "") -> HttpResponse:
    form = RolesForm(initial={"roles": [role.value for role in found.roles]})
    context = {
        "person": found,
        "form": form,
        "password": password,
        "is_last": _is_last_administrator(found),
        "changes": _changes(found),
    }
    return render(request, "people/person.html", context)


def _change(request: HttpRequest, found: User, verb: Callable[[], bool]) -> None:
    try:
        if verb():
            messages.success(request, f"{found}: saved.")
    except MoveRefused as refusal:
        messages.error(request, f"{refusal} Nothing was changed.")


def _everybody() -> QuerySet[User]:
    everybody: QuerySet[User] = User.objects.prefetch_related("groups")
    return everybody.order_by("-is_active", "username")


def _changes(found: User | None = None) -> list[Said]:
    events = Event.objects.filter(batch=None, verb__startswith="person.").select_related("actor")
    if found is not None:
        events = events.filter(detail__person=found.username)
    return [said(event) for event in events.order_by("-id")[:EVENTS_SHOWN]]


def _is_last_administrator(found: User) -> bool:
    others = User.objects.administrators().exclude(pk=found.pk)
    return Role.ADMIN in found.roles and found.is_active and not others.exists()
