"""What may be changed of a batch under way: a dialog on its page, and a page without a script."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from batchboard.models import Batch, Mode
from batchboard.models.changing import SETTINGS, NotPossible
from batchboard.money import plain
from batchboard.roles import Right, require
from batchboard.states import MoveRefused
from batchboard.views.requests import is_fragment

NUMBER = {"inputmode": "decimal", "autocomplete": "off"}
NAMES = {"budget": "budget", "concurrency": "N", "priority": "priority", "deadline": "deadline"}


class BatchSettingsForm(forms.Form):
    budget = forms.DecimalField(
        label="Budget",
        required=False,
        max_digits=18,
        decimal_places=10,
        widget=forms.TextInput(attrs=NUMBER),
        help_text="Calls stop before the next one could pass it. Empty: only the installation's"
        " ceiling holds.",
    )
    concurrency = forms.IntegerField(
        label="N, the most calls in flight",
        required=False,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
        help_text="Empty: as many as the cap lets through.",
    )
    priority = forms.IntegerField(
        label="Priority",
        widget=forms.NumberInput(attrs={"min": -10, "max": 10}),
        help_text="Of batches with as many calls in flight, the higher goes first (-10 to 10).",
    )
    deadline = forms.DecimalField(
        label="Deadline",
        required=False,
        max_digits=12,
        decimal_places=2,
        widget=forms.TextInput(attrs=NUMBER),
        help_text="Minutes from the first call. Then the batch stands still until somebody acts.",
    )

    def speak_of_requests(self) -> None:
        """The words for items that are with the provider and in no call."""
        n = self.fields["concurrency"]
        n.label, n.help_text = "N, the most requests with the provider", "Empty: all together."
        self.fields[
            "budget"
        ].help_text = (
            "Nothing is sent that could pass it. Empty: only the installation's ceiling holds."
        )
        self.fields["deadline"].help_text = (
            "Minutes from the start. Then nothing more is sent until somebody acts; what the"
            " provider has still counts."
        )

    def values(self) -> dict[str, Any]:
        minutes: Decimal | None = self.cleaned_data["deadline"]
        seconds = None if minutes is None else int(minutes * 60)
        return {name: self.cleaned_data[name] for name in SETTINGS} | {"deadline": seconds}


@require_http_methods(["GET", "POST"])
def batch_settings(request: HttpRequest, public_id: str) -> HttpResponse:
    batch = get_object_or_404(Batch, public_id=public_id)
    back = reverse("batch", args=[public_id])
    require(request.user, Right.OPERATE, "change a batch")
    form = BatchSettingsForm(request.POST or None, initial=_as_they_are(batch))
    if batch.mode == Mode.PROVIDER_BATCH:
        form.speak_of_requests()
    if request.method == "POST" and form.is_valid() and _change(request, batch, form):
        fragment = is_fragment(request)
        return HttpResponseClientRedirect(back) if fragment else redirect(back)
    name = "batch/_settings.html" if is_fragment(request) else "batch/settings.html"
    return render(request, name, {"form": form, "batch": batch})


def _as_they_are(batch: Batch) -> dict[str, Any]:
    minutes = None if batch.deadline is None else Decimal(batch.deadline) / 60
    return {
        "budget": _short(batch.budget),
        "concurrency": batch.concurrency,
        "priority": batch.priority,
        "deadline": _short(minutes),
    }


def _short(amount: Decimal | None) -> str:
    return "" if amount is None else plain(round(amount, 10))


def _change(request: HttpRequest, batch: Batch, form: BatchSettingsForm) -> bool:
    """Whether it was done; what was wrong then stands at its field."""
    try:
        changed = batch.change(by=request.user, **form.values())
    except NotPossible as error:
        form.add_error(error.field, str(error))
        return False
    except MoveRefused as refusal:
        messages.error(request, str(refusal))
        return True
    if changed:
        said = " and ".join(NAMES[name] for name in changed)
        messages.success(request, f"Changed: {said}.")
    return True
