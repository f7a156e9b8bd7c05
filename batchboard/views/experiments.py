"""Experiments: the list, and the page of one with its progress and, at its end, its verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from batchboard import rows
from batchboard.models import (
    Experiment,
    ExperimentArm,
    ExperimentState,
    Limits,
    Preparation,
    PreparationKind,
    PreparationState,
)
from batchboard.money import ZERO
from batchboard.states import BatchState, MoveRefused
from batchboard.views.cards import Card, cards, live_items
from batchboard.views.cost_choices import Chosen
from batchboard.views.costs import found_of
from batchboard.views.refusing import operators_only
from batchboard.views.requests import is_fragment
from dispatch import pump

SHOWN = 100
TONES = {
    ExperimentState.DRAFT: "wait",
    ExperimentState.RUNNING: "run",
    ExperimentState.BLOCKED: "person",
    ExperimentState.ENDED: "ok",
    ExperimentState.CANCELLED: "wait",
}


@dataclass(frozen=True)
class Line:
    """An experiment with what it did so far, all arms together."""

    experiment: Experiment
    state: ExperimentState
    tone: str

    @property
    def arms(self) -> Sequence[ExperimentArm]:
        return list(self.experiment.arms.all())

    @property
    def cost(self) -> Decimal:
        return sum((b.cost + b.unknown_cost for b in self.experiment.batches), ZERO)

    @property
    def expected(self) -> Decimal:
        return sum((b.estimate_expected or ZERO for b in self.experiment.batches), ZERO)

    @property
    def worst(self) -> Decimal:
        return sum((b.estimate_worst or ZERO for b in self.experiment.batches), ZERO)

    @property
    def items(self) -> int:
        """Of all arms."""
        return sum(batch.total for batch in self.experiment.batches)

    @property
    def done(self) -> int:
        """Of all arms; what was cancelled is not among them."""
        return sum(batch.succeeded + batch.dead for batch in self.experiment.batches)

    @property
    def starts(self) -> bool:
        return self.state is ExperimentState.DRAFT

    @property
    def cancels(self) -> bool:
        return self.state not in {ExperimentState.ENDED, ExperimentState.CANCELLED}

    @property
    def is_short(self) -> bool:
        """Whether the budget is less than what it is expected to cost."""
        budget = self.experiment.budget
        return budget is not None and budget < self.expected

    @property
    def to_review(self) -> int:
        """Arms that wait for review."""
        return sum(batch.state == BatchState.REVIEW for batch in self.experiment.batches)


@require_safe
def experiments(request: HttpRequest) -> HttpResponse:
    found = [_line(one) for one in Experiment.objects.with_arms()[:SHOWN]]
    own = Preparation.objects.filter(owner=request.user, kind=PreparationKind.EXPERIMENT)  # type: ignore[misc]
    unfinished = own.exclude(state=PreparationState.DONE).order_by("-saved_at")[:3]
    context = {"lines": found, "unfinished": unfinished, "shown": "experiments"}
    return render(request, "experiments/list.html", context)


@require_safe
def experiment(request: HttpRequest, public_id: str) -> HttpResponse:
    """The page; htmx gets the part that changes."""
    found = _find(public_id)
    name = "experiments/_live.html" if is_fragment(request) else "experiments/experiment.html"
    return render(request, name, _context(found))


@require_POST
def experiment_run(request: HttpRequest, public_id: str) -> HttpResponse:
    return _act(request, public_id, "start")


@require_POST
def experiment_cancellation(request: HttpRequest, public_id: str) -> HttpResponse:
    return _act(request, public_id, "cancel")


def _find(public_id: str) -> Experiment:
    return get_object_or_404(Experiment.objects.with_arms(), public_id=public_id)


def _line(found: Experiment) -> Line:
    state = found.state
    return Line(found, state, TONES[state])


def _context(found: Experiment) -> dict[str, Any]:
    line = _line(found)
    context = {"line": line, "experiment": found, "arms": _cards(found), "shown": "experiments"}
    if line.state not in {ExperimentState.ENDED, ExperimentState.CANCELLED}:
        return context
    chosen = Chosen.of({"experiment": found.public_id})
    if chosen.choice is None or chosen.choice.experiment != found.public_id:
        return context | {"nothing": True}
    return context | {"chosen": chosen} | found_of(chosen)


def _cards(found: Experiment) -> list[tuple[ExperimentArm, Card]]:
    """How far each arm is."""
    limits = Limits.objects.current()
    now = rows.now()
    made = cards(
        found.batches,
        limits=limits,
        live=live_items(limits),
        workers=len(pump.alive(now)),
        now=now,
    )
    return [(arm, made[arm.batch_id]) for arm in found.arms.all()]


@operators_only("start and cancel experiments")
def _act(request: HttpRequest, public_id: str, verb: str) -> HttpResponse:
    found = _find(public_id)
    try:
        getattr(found, verb)(by=request.user)
    except MoveRefused as refusal:
        if is_fragment(request):
            return HttpResponse(
                str(refusal), status=HTTPStatus.CONFLICT, content_type="text/plain; charset=utf-8"
            )
        messages.error(request, str(refusal))
    return redirect("experiment", found.public_id)
