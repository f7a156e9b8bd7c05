"""What each model used of its limits in the last minute, from few rows however many there are."""

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, QuerySet, Sum
from django.db.models.functions import Coalesce

from batchboard.models import Attempt, Limits, Sample
from batchboard.models.limit_settings import RATES
from batchboard.models.sample import KEPT

USED = {"rpm": "requests", "itpm": "input_tokens", "otpm": "output_tokens"}


def used_last_minute(limits: Limits, now: datetime) -> dict[str, dict[str, float]]:
    """Requests and tokens of each model that ended in the last minute: of the samples, each by its
    share of that minute, and of the few attempts that ended since the newest of them."""
    used: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(RATES, 0.0))
    minute_ago, shortest = now - timedelta(seconds=60), timedelta(seconds=min(KEPT))
    samples = Sample.objects.filter(seconds=min(KEPT), at__gt=minute_ago, at__lte=now)
    for one in samples.exclude(model=""):
        part = min(1.0, (one.at - minute_ago) / shortest)
        for rate, column in USED.items():
            used[one.model][rate] += getattr(one, column) * part
    if limits.sampled_at is not None:
        for model, *sums in _ended_since(limits, max(limits.sampled_at, minute_ago)):
            for rate, number in zip(RATES, sums, strict=True):
                used[model][rate] += number or 0
    return used


def _ended_since(limits: Limits, since: datetime) -> QuerySet[Attempt, tuple[Any, ...]]:
    # None of them is older than the oldest that was live at the newest sample.
    young = Attempt.objects.filter(
        pk__gte=limits.sampled_from,
        ended_at__gt=since,
        started_at__isnull=False,
        submission__isnull=True,
    )
    tokens = ("input_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens")
    taken = [Coalesce(F(column), 0) for column in tokens]
    return (
        young.order_by()
        .values_list("model")
        .annotate(
            rpm=Sum("slot"),
            itpm=Sum(taken[0] + taken[1] + taken[2]),
            otpm=Sum("output_tokens"),
        )
    )
