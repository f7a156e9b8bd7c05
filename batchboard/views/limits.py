"""The limits page: what is allowed, what is used of it, and the forms that change it."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from batchboard import rows
from batchboard.forms import LimitsForm, PriceForm
from batchboard.models import Limits
from batchboard.models.consequences import stops
from batchboard.models.limit_settings import RATES, read_settings
from batchboard.models.starving import starves
from batchboard.roles import NEEDED, Right, may, require
from batchboard.views.limits_history import NAMES, RANGES, history
from batchboard.views.limits_prices import price_rows
from batchboard.views.limits_rows import (
    field,
    model_rows,
    models_by_name,
    pause_rows,
    worker_rows,
)
from batchboard.views.limits_words import TITLES, cap_history, changes

WRONG = 422


@require_http_methods(["GET", "HEAD", "POST"])
def limits(request: HttpRequest) -> HttpResponse:
    """The page; a POST changes what holds for all batches together."""
    if request.method != "POST":
        return render(request, "limits/limits.html", limits_page(request))
    require(request.user, Right.ADMINISTER, "change the limits")
    row = Limits.objects.current()
    form = LimitsForm(request.POST)
    if form.is_valid() and "anyway" not in request.POST:
        for name, why in stops(row, form.cleaned_data, timezone.now()).items():
            form.stop(name, why)
    if not form.is_valid():
        return render(request, "limits/limits.html", limits_page(request, form=form), status=WRONG)
    before = {name: row.configured(name) for name in form.cleaned_data}
    # What is as it was stays unset, so that the environment goes on to decide it.
    asked = {name: value for name, value in form.cleaned_data.items() if value != before[name]}
    changed = row.change(by=request.user, **asked)
    _say(request, [f"{TITLES[name]}: {form.said(name, before[name])}" for name in changed])
    return redirect("limits")


@require_safe
def limits_live(request: HttpRequest) -> HttpResponse:
    return render(request, "limits/_live.html", limits_page(request))


@require_POST
def limits_models(request: HttpRequest) -> HttpResponse:
    """Limits per minute, of all models and of single ones; all of them or none are saved."""
    require(request.user, Right.ADMINISTER, "change the limits")
    row = Limits.objects.current()
    typed = {name: _digits(value) for name, value in request.POST.items()}
    errors: dict[str, str] = {}
    asked: dict[str, dict[str, Any]] = {}
    for model in ["", *models_by_name()]:
        for rate in RATES:
            name = field(model, rate)
            if name in typed:
                asked.setdefault(model, {})[rate] = _read(rate, typed[name], name, model, errors)
    stopped = False
    if not errors and "anyway" not in request.POST:
        found = starves(row, asked)
        errors = {field(model, rate): why for (model, rate), why in found.items()}
        stopped = bool(errors)
    if errors:
        page = limits_page(
            request, typed={name: request.POST[name] for name in typed}, errors=errors
        )
        page["models_stopped"] = stopped
        return render(request, "limits/limits.html", page, status=WRONG)
    changed = 0
    for model, values in asked.items():
        if model:
            changed += len(row.change_model(model, by=request.user, **values))
        else:
            changed += len(row.change(by=request.user, **values))
    _say(request, [f"{changed} limit{'' if changed == 1 else 's'}"] if changed else [])
    return redirect("limits")


@require_POST
def limits_pause(request: HttpRequest) -> HttpResponse:
    Limits.objects.current().pause_all(by=request.user)
    messages.success(request, "Everything is paused: calls in flight end, none begins.")
    return redirect("limits")


@require_POST
def limits_resumption(request: HttpRequest) -> HttpResponse:
    Limits.objects.current().resume_all(by=request.user)
    messages.success(request, "Batches go on.")
    return redirect("limits")


def limits_page(
    request: HttpRequest,
    *,
    price_form: PriceForm | None = None,
    form: LimitsForm | None = None,
    typed: dict[str, str] | None = None,
    errors: dict[str, str] | None = None,
) -> dict[str, Any]:
    now = rows.now()
    row = Limits.objects.shown()
    models = models_by_name()
    shown = RANGES.get(request.GET.get("range", ""), RANGES["hour"])
    made = changes()
    mine = may(request.user, Right.ADMINISTER)
    return {
        "limits": row,
        "form": form or LimitsForm.of(row),
        "ranges": RANGES.values(),
        "shown": shown,
        "history": history(row, models, shown, now),
        "all_models": _all_models(row, typed, errors),
        "models": model_rows(row, models, now, typed, errors),
        "model_errors": errors,
        "headroom": row.configured("headroom"),
        "prices": price_rows(now),
        "price_form": price_form or PriceForm(),
        "workers": worker_rows(row, now),
        "pauses": pause_rows(models, now),
        "cap_history": cap_history(),
        "changes": made,
        "last": next((one for one in made if one.event.verb == "limits.changed"), None),
        "given_ceiling": Limits.from_environment("budget"),
        "may_change": mine,
        "may_pause": may(request.user, Right.OPERATE),
        "who_may": f"Only {NEEDED[Right.ADMINISTER]} may change the limits.",
    }


def _all_models(
    row: Limits, typed: dict[str, str] | None, errors: dict[str, str] | None
) -> list[dict[str, str]]:
    return [
        {
            "name": rate,
            "label": NAMES[rate],
            "value": (typed or {}).get(rate, f"{row.configured(rate):,}"),
            "error": (errors or {}).get(rate, ""),
        }
        for rate in RATES
    ]


def _read(rate: str, value: str, name: str, model: str, errors: dict[str, str]) -> Any:
    if model and not value:
        return None
    try:
        return read_settings({rate: value})[rate]
    except ValueError:
        errors[name] = (
            f"{TITLES[rate]} of {model or 'every model'}: “{value}” is not a whole number from 1 to"
            " 1,000,000,000."
        )
        return None


def _digits(value: str | list[object]) -> str:
    return str(value).replace(",", "").replace(" ", "").replace("\u202f", "")


def _say(request: HttpRequest, said: list[str]) -> None:
    if said:
        messages.success(request, f"{', '.join(said)} saved. In force now.")
    else:
        messages.success(request, "Nothing was different: all is as it was.")
