"""A batch, or the limits, in plain values for machines: money in dollars, moments as ISO text."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Sum
from django.utils import timezone

from batchboard.models import Attempt, Batch, Limits


def summary(batch: Batch, limits: Limits | None = None) -> dict[str, Any]:
    """State, counts, money (dollars), tokens and cap of a batch."""
    limits = limits or Limits.objects.current()
    running = batch.live_items
    return {
        "id": batch.public_id,
        "name": batch.name,
        "state": batch.state,
        "blocked": batch.blocked or None,
        "blocked_detail": batch.blocked_detail or None,
        "waits_for": batch.waits_for or None,
        "task_type": str(batch.version),
        "model": batch.version.model,
        "mode": batch.mode,
        "schedule": batch.schedule,
        "items": batch.total,
        "counts": {
            "waiting": batch.total - batch.ended - running,
            "running": running,
            "succeeded": batch.succeeded,
            "dead": batch.dead,
            "cancelled": batch.cancelled,
        },
        "cost_usd": number(batch.cost),
        "unknown_cost_usd": number(batch.unknown_cost),
        "reserved_usd": number(batch.reserved),
        "budget_usd": number(batch.budget),
        "estimate_usd": {
            "expected": number(batch.estimate_expected),
            "worst": number(batch.estimate_worst),
        },
        "tokens": {
            "input": batch.input_tokens,
            "output": batch.output_tokens,
            "cache_write": batch.cache_write_tokens,
            "cache_read": batch.cache_read_tokens,
        },
        "cap": {"configured": limits.cap, "in_force": limits.cap_in_force},
        "created_at": stamp(batch.created_at),
        "started_at": stamp(batch.started_at),
        "finished_at": stamp(batch.finished_at),
    }


def number(amount: Decimal | None) -> float | None:
    """An amount as a JSON number; ten decimals of it are exact."""
    return None if amount is None else float(amount)


def stamp(moment: datetime | None) -> str | None:
    """ISO 8601, with its offset."""
    return None if moment is None else moment.isoformat()


def limits_summary(limits: Limits) -> dict[str, Any]:
    """The limits: what is configured, the cap in force and why, money spent and left."""
    now = timezone.now()
    budget = limits.configured("budget")
    return {
        "concurrency": limits.cap,
        "cap_in_force": limits.cap_in_force,
        "cap_reason": limits.cap_reason or None,
        "rpm": limits.configured("rpm"),
        "itpm": limits.configured("itpm"),
        "otpm": limits.configured("otpm"),
        "headroom": limits.configured("headroom"),
        "budget_usd": number(budget),
        "budget_period": limits.configured("budget_period"),
        "starter_may_approve": limits.configured("starter_may_approve"),
        "spent_usd": number(limits.spent(now)),
        "in_flight": Attempt.objects.live().aggregate(n=Sum("slot"))["n"] or 0,
        "binds": limits.binds or None,
        "paused": limits.paused,
    }
