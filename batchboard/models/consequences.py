"""What a new limit would stop, told before it is saved."""

from datetime import datetime
from typing import Any

from django.db.models import Sum

from batchboard.models.attempt import Attempt
from batchboard.models.limits import Limits
from batchboard.models.starving import starves
from batchboard.models.submission import Submission
from batchboard.models.user import User
from batchboard.money import ZERO
from batchboard.roles import Role


def stops(limits: Limits, values: dict[str, Any], now: datetime) -> dict[str, str]:
    """Why each of these (read) values would stop work, by the name of its setting; most stop
    nothing and are not in the answer."""
    found = {name: why for (_, name), why in starves(limits, {"": values}).items()}
    found |= {"budget": _money(limits, values, now), "starter_may_approve": _approval(values)}
    return {name: why for name, why in found.items() if why and name in values}


def _money(limits: Limits, values: dict[str, Any], now: datetime) -> str:
    ceiling = values.get("budget", limits.configured("budget"))
    period = values.get("budget_period", limits.configured("budget_period"))
    unchanged = (ceiling, period) == (
        limits.configured("budget"),
        limits.configured("budget_period"),
    )
    if ceiling is None or unchanged:
        return ""
    asked = Limits(budget_period=period)
    taken = asked.spent(now)
    for held in (
        Attempt.objects.live().filter(pk__gte=limits.oldest_live),
        Submission.objects.open(),
    ):
        taken += held.aggregate(sum=Sum("reserved"))["sum"] or ZERO
    if ceiling > taken:
        return ""
    when = "this month" if period == "month" else "in all"
    return (
        f"Not more than the ${taken:,.2f} spent and reserved {when}. Every batch would be blocked."
    )


def _approval(values: dict[str, Any]) -> str:
    if values.get("starter_may_approve", True) or not Limits.objects.current().configured(
        "starter_may_approve"
    ):
        return ""
    judges = User.objects.filter(
        is_active=True, groups__name__in=[Role.REVIEWER.value, Role.ADMIN.value]
    ).distinct()
    if judges.count() > 1:
        return ""
    return "Only one person may approve: nobody could approve what that person starts."
