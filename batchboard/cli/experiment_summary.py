"""Experiments in plain values, for machines."""

from typing import Any

from batchboard.arm_text import ArmPlan, labels_of
from batchboard.arms import arms_of
from batchboard.cli.costs import comparison_summary
from batchboard.compare import Comparison, compare
from batchboard.experimenting import Foreseen
from batchboard.models import Experiment
from batchboard.summary import number, stamp


def summary(experiment: Experiment) -> dict[str, Any]:
    """An experiment in plain values, with its comparison as soon as there is one."""
    found = compared(experiment)
    return facts(experiment) | {"comparison": found and comparison_summary(found)}


def foreseen(arms: list[ArmPlan], found: Foreseen) -> dict[str, Any]:
    """What the arms would cost (dollars) and take (seconds)."""
    return {
        "estimate_usd": {"expected": number(found.expected), "worst": number(found.worst)},
        "seconds": found.seconds,
        "arms": [
            {
                "label": label,
                "mode": arm.mode,
                "estimate_usd": {"expected": number(one.expected), "worst": number(one.worst)},
                "seconds": one.seconds,
                "binding_limit": one.binding_limit,
                "basis": one.basis,
            }
            for label, arm, one in zip(labels_of(arms), arms, found.arms, strict=True)
        ],
    }


def facts(experiment: Experiment) -> dict[str, Any]:
    """An experiment and its arms, without the comparison, which takes longer."""
    return {
        "id": experiment.public_id,
        "name": experiment.name,
        "state": str(experiment.state),
        "task_type": str(experiment.version),
        "n": experiment.n,
        "seed": experiment.seed,
        "source": experiment.source,
        "budget_usd": number(experiment.budget),
        "created_at": stamp(experiment.created_at),
        "started_at": stamp(experiment.started_at),
        "ended_at": stamp(experiment.ended_at),
        "arms": [
            {
                "label": arm.label,
                "batch": arm.batch.public_id,
                "mode": arm.batch.mode,
                "state": arm.batch.state,
                "blocked": arm.batch.blocked or None,
                "items": arm.batch.total,
                "succeeded": arm.batch.succeeded,
                "dead": arm.batch.dead,
                "cost_usd": number(arm.batch.cost),
                "budget_usd": number(arm.batch.budget),
                "estimate_usd": {
                    "expected": number(arm.batch.estimate_expected),
                    "worst": number(arm.batch.estimate_worst),
                },
            }
            for arm in experiment.arms.all()
        ],
    }


def compared(experiment: Experiment) -> Comparison | None:
    """The comparison, once an item ended in every arm."""
    if not all(batch.succeeded + batch.dead for batch in experiment.batches):
        return None
    arms, pairing = arms_of(experiment)
    return compare(arms, paired=pairing)
