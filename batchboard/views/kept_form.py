"""A form that keeps what is typed under an address of its own, has its file read in the background,
and becomes something there: one mechanism for a new batch and for a new experiment."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from batchboard.definition_form import Problem
from batchboard.models import (
    Preparation,
    PreparationKind,
    PreparationState,
    UploadTooLarge,
)
from batchboard.models.preparation import new_preparation_id
from batchboard.models.upload import MAX_UPLOAD_BYTES
from batchboard.preparing import Prepared
from batchboard.views.requests import is_fragment
from dispatch import intake_tasks

ID = re.compile(r"p_[2-9a-z]{10}")
PAGE = "new/new.html"
TOO_LARGE = (
    f"The file is over {MAX_UPLOAD_BYTES // 1_000_000} MB. Divide it into several."
    " Nothing was stored."
)


class Read(Protocol):
    """A form as it is understood: what is wrong with it, by field."""

    problems: dict[str, Problem]


R = TypeVar("R", bound=Read)


class KeptForm(Generic[R]):
    """What every form of the kind does; a subclass says how its texts are read and shown.

    `prefix` begins the names of its addresses: …-form, …-items, …-start and …-discard. `address`
    is the name of its page's own, `left_to` of the page after it was discarded. `part` is the
    template of what changes with every choice, `labels` name the fields that can be wrong, and
    `set_by_file` are fields that a file gives a value of its own.
    """

    kind: PreparationKind
    title: str
    prefix: str
    address: str
    left_to: str
    part: str
    labels: Mapping[str, str]
    set_by_file: Mapping[str, str] = {}

    def first_fields(self, request: HttpRequest) -> dict[str, str]:
        """What a fresh form begins with, by what its address asks for."""
        raise NotImplementedError

    def sent_fields(self, preparation: Preparation, request: HttpRequest) -> dict[str, str]:
        """The fields as they are now; nothing where none were sent."""
        raise NotImplementedError

    def read(self, preparation: Preparation) -> R:
        """What the form asks for; never raises."""
        raise NotImplementedError

    def shown(self, preparation: Preparation, read: R, wrong: Mapping[str, Problem]) -> Any:
        """What its templates show beside what every form has: names and their values. `wrong` are
        the problems to be told in red."""
        raise NotImplementedError

    def made(self, preparation: Preparation) -> str | None:
        """The address of what it became, where that is there."""
        raise NotImplementedError

    def begin(self, request: HttpRequest) -> HttpResponse:
        """Go on at a fresh address, so that a reload finds the same form again."""
        query = request.GET.urlencode()
        address = reverse(self.address, args=[new_preparation_id()])
        return redirect(f"{address}?{query}" if query else address)

    def find(self, request: HttpRequest, public_id: str) -> Preparation:
        """The person's own form at this address, unsaved where nothing was kept yet."""
        if not ID.fullmatch(public_id):
            raise Http404
        found = (
            Preparation.objects.filter(public_id=public_id)
            .select_related("upload", "batch", "experiment", "trial__version__task_type", "owner")
            .first()
        )
        if found is None:
            fields = self.first_fields(request)
            owner: Any = request.user
            return Preparation(public_id=public_id, owner=owner, kind=self.kind, fields=fields)
        if found.owner_id != request.user.pk or found.kind != self.kind:
            raise Http404
        return found

    def keep(self, preparation: Preparation, request: HttpRequest) -> None:
        """Store what was typed, while the form may still change."""
        if preparation.may_change:
            preparation.keep(self.sent_fields(preparation, request))

    def show(self, request: HttpRequest, public_id: str, *, part: bool) -> HttpResponse:
        """The form, after keeping what was sent; the `part` of it that changes where a script asks
        for that."""
        preparation = self.find(request, public_id)
        if request.method == "POST":
            self.keep(preparation, request)
        if preparation.state == PreparationState.DONE and (made := self.made(preparation)):
            return HttpResponseClientRedirect(made) if part else redirect(made)
        if request.method == "POST" and not part:
            return redirect(self.address, public_id)
        return self.render(request, preparation, part=part)

    def take_items(self, request: HttpRequest, public_id: str) -> HttpResponse:
        """Store the file, or what was pasted; it is read in the background."""
        preparation = self.find(request, public_id)
        if not preparation.may_change:
            return redirect(self.address, public_id)
        self.keep(preparation, request)
        not_taken = self._take_file(preparation, request)
        part = is_fragment(request)
        if not part and not not_taken:
            return redirect(self.address, public_id)
        return self.render(request, preparation, part=part, not_taken=not_taken)

    def start(self, request: HttpRequest, public_id: str) -> HttpResponse:
        """Make what the form asks for, in the background; start it where that was asked for."""
        preparation = self.find(request, public_id)
        self.keep(preparation, request)
        if preparation.pk and preparation.may_change:
            if self.read(preparation).problems:
                return self.render(request, preparation, refused=True)
            if preparation.store(starts="start" in request.POST):
                transaction.on_commit(intake_tasks.nudge)
        return redirect(self.address, public_id)

    def discard(self, request: HttpRequest, public_id: str) -> HttpResponse:
        """Forget the form and its file."""
        preparation = self.find(request, public_id)
        if preparation.pk and preparation.state != PreparationState.STORING:
            preparation.discard()
        return redirect(self.left_to)

    def render(
        self,
        request: HttpRequest,
        preparation: Preparation,
        *,
        part: bool = False,
        refused: bool = False,
        not_taken: str = "",
    ) -> HttpResponse:
        """The page, or its `part`; what is merely missing shows as an error once it was `refused`,
        and `not_taken` says why a file was not."""
        read = self.read(preparation)
        problems = read.problems
        wrong = {name: p for name, p in problems.items() if refused or not p.missing}
        addresses = {
            name: reverse(f"{self.prefix}-{name}", args=[preparation.public_id])
            for name in ("form", "items", "start", "discard")
        }
        context = {
            "title": self.title,
            "part": self.part,
            "to": addresses,
            "preparation": preparation,
            "upload": preparation.upload,
            "storing": preparation.state == PreparationState.STORING,
            "problems": wrong,
            "refused": refused,
            "not_taken": not_taken,
            "blocked": bool(problems),
            "wrong": [(name, self.labels[name]) for name in wrong],
            "needed": [(name, self.labels[name]) for name in problems if name not in wrong],
            "unfinished": self._unfinished(request) if not preparation.pk else [],
            **self.shown(preparation, read, wrong),
        }
        failed = not part and (refused or bool(not_taken))
        return render(request, self.part if part else PAGE, context, status=422 if failed else 200)

    def _take_file(self, preparation: Preparation, request: HttpRequest) -> str:
        """Why the file was not taken, or nothing."""
        file, pasted = request.FILES.get("file"), request.POST.get("pasted", "")
        if file is None and not pasted.strip():
            return "Choose a file, or paste some rows."
        name, chunks = "-", _encoded(pasted)
        if file is not None:
            name, chunks = file.name or "-", file.chunks()
        try:
            preparation.take_in(name, chunks, self.set_by_file)
        except UploadTooLarge:
            return TOO_LARGE
        transaction.on_commit(intake_tasks.nudge)
        return ""

    def _unfinished(self, request: HttpRequest) -> list[tuple[Preparation, str]]:
        """The person's latest forms that have a file, with their addresses."""
        return [
            (one, reverse(self.address, args=[one.public_id]))
            for one in Preparation.objects.unfinished(request.user, self.kind)[:3]
        ]


def ask_for_count(preparation: Preparation, prepared: Prepared) -> None:
    """Let the provider count in the background, once for each definition and file."""
    upload = preparation.upload
    if not preparation.pk or upload is None or prepared.profile is None:
        return
    if prepared.definition is None or prepared.problems:
        return
    if preparation.want_count(prepared.count_key(upload)):
        transaction.on_commit(intake_tasks.nudge)


def _encoded(text: str) -> Iterable[bytes]:
    yield text.encode("utf-8", "surrogatepass")
