"""What a task cost before and after: the page, and its figures as a file."""

import csv
from datetime import datetime
from io import StringIO
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import patch_vary_headers
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from batchboard import pricing, rows
from batchboard.export import harmless
from batchboard.models import Experiment
from batchboard.templatetags.figures import count, share, usd
from batchboard.views.cost_choices import Choice, Chosen
from batchboard.views.cost_finding import comparison_of
from batchboard.views.cost_shown import Arm, Shown
from batchboard.views.cost_weeks import weekly_plot, weeks_of
from batchboard.views.requests import is_fragment
from batchboard.weekly import usual_rate, yearly

TITLES = (
    "arm", "detail", "items", "succeeded", "cost_per_task_usd", "cost_low_usd", "cost_high_usd",
    "change", "change_low", "change_high", "cache_read_tokens_per_task",
    "cache_write_tokens_per_task", "input_tokens_per_task", "output_tokens_per_task",
    "cache_share", "tasks_per_hour", "failure_share", "judged", "pass_share", "verdict", "words",
    "provider",
)  # fmt: skip


@require_safe
def costs(request: HttpRequest) -> HttpResponse:
    """The page; htmx, when something else is chosen, gets the part that changes. An experiment
    that has nothing to compare yet shows its progress instead."""
    chosen = Chosen.of(request.GET.dict())
    asked = request.GET.get("experiment", "")
    if asked and (chosen.choice is None or chosen.choice.experiment != asked):
        return redirect("experiment", get_object_or_404(Experiment, public_id=asked).public_id)
    context = {"chosen": chosen, "shown": "costs"} | found_of(chosen)
    name = "costs/_costs.html" if is_fragment(request) else "costs/costs.html"
    answer = render(request, name, context)
    patch_vary_headers(answer, ["HX-Request"])
    return answer


def found_of(chosen: Chosen) -> dict[str, Any]:
    """What the page shows of the comparison that was chosen; nothing where there is none."""
    if chosen.task_type is None or chosen.choice is None:
        return {}
    now = rows.now()
    # The arms of an experiment run at the same time: there is no before and after among weeks.
    weeks = weeks_of(chosen.task_type.pk, None if chosen.choice.experiment else chosen.choice)
    found = comparison_of(chosen.task_type.pk, chosen.choice)
    return {
        "found": found,
        "weeks": weekly_plot(weeks, chosen.choice, found.dots),
        "cache_rate": _cache_rate(found.caching_model, now),
        "year": _year(found, usual_rate(weeks, now)),
    }


@require_safe
def costs_csv(request: HttpRequest) -> HttpResponse:
    """The chosen comparison, a row for each arm; shares are fractions of 1."""
    chosen = Chosen.of(request.GET.dict())
    if chosen.task_type is None or chosen.choice is None:
        raise Http404
    found = comparison_of(chosen.task_type.pk, chosen.choice)
    buffer = StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(TITLES)
    for arm in found.arms:
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in _row(arm)])
    answer = HttpResponse(buffer.getvalue(), content_type="text/csv; charset=utf-8")
    name = _file_name(chosen.task_type.name, chosen.choice)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["Cache-Control"] = "no-store"
    return answer


def _year(found: Shown, rate: Any) -> str:
    """What a year costs less, where a usual week was measured and the difference is certain."""
    if rate is None or found.before is None or found.after is None:
        return ""
    less = yearly(rate, found.before, found.after)
    weekly = count(round(rate)) if rate >= 10 else f"{rate:.1f}"
    amount = f"${abs(less):,.0f}" if abs(less) >= 10 else usd(abs(less))
    return f"At {weekly} items a week: {amount} {'less' if less >= 0 else 'more'} a year."


def _cache_rate(model: str, now: datetime) -> str:
    """What a token costs that is read from the cache, beside one that is not."""
    rates = pricing.rates(model, now) if model else None
    if rates is None:
        return ""
    return f"a token from the cache costs {share(rates.cache_read / rates.input)} of an input token"


def _row(arm: Arm) -> list[Any]:
    cost, change, tokens = arm.cost, arm.change, arm.tokens or {}
    return [
        arm.name, arm.detail, arm.items, arm.succeeded,
        *((cost.mid, cost.low, cost.high) if cost else ("", "", "")),
        *((change.mid, change.low, change.high) if change else ("", "", "")),
        *(tokens.get(kind, "") for kind in ("cache_read", "cache_write", "input", "output")),
        *(("" if value is None else value) for value in (arm.cache_share, arm.tasks_per_hour,
                                                         arm.failure_share)),
        arm.judged, "" if arm.pass_share is None else arm.pass_share, arm.verdict, arm.words,
        "simulated" if arm.is_simulated else "real",
    ]  # fmt: skip


def _file_name(task_type: str, choice: Choice) -> str:
    name = slugify(task_type)[:60] or "task-type"
    return f"costs-{name}-{slugify(choice.value.replace(':', '-'))}.csv"
