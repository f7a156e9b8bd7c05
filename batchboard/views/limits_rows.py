"""The rows of the limits page: what each model used of its limits, workers, pauses."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Min, Sum

from batchboard.models import Attempt, Batch, Limits, ModelLimit, Worker
from batchboard.models.limit_settings import RATES
from batchboard.states import OPEN_BATCH
from batchboard.views import outages
from batchboard.views.limits_history import NAMES, limited_today
from batchboard.views.limits_use import used_last_minute
from batchboard.views.workers import GONE_SHOWN

BINDS_FROM = 0.95
RATE_LIMITED = "Rate limited (429)"
SILENT_AFTER = timedelta(seconds=8)


@dataclass(frozen=True)
class Cell:
    """One limit of one model: the value that a person set, and what was used of it."""

    name: str
    label: str
    value: str
    placeholder: str
    used: float
    allowed: float
    told: int | None
    error: str = ""

    @property
    def share(self) -> float:
        return self.used / self.allowed if self.allowed else 0.0

    @property
    def percent(self) -> float:
        return round(min(100.0, self.share * 100), 1)

    @property
    def binds(self) -> bool:
        return self.share >= BINDS_FROM


@dataclass(frozen=True)
class ModelRow:
    model: str
    cells: list[Cell]
    limited: int


@dataclass(frozen=True)
class WorkerRow:
    """A worker, and how many calls it holds; `oldest` is the one that it has held longest."""

    worker: Worker
    state: str
    holds: int
    oldest: Attempt | None


@dataclass(frozen=True)
class PauseRow:
    model: str
    until: datetime
    why: str
    batches: int
    items: int


def models_by_name() -> dict[str, ModelLimit]:
    return {one.model: one for one in ModelLimit.objects.order_by("model")}


def model_rows(
    limits: Limits,
    models: dict[str, ModelLimit],
    now: datetime,
    typed: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> list[ModelRow]:
    """The models that were ever called. `typed` holds, by the name of a field, what somebody
    typed that could not be saved, and `errors` why."""
    used, limited = used_last_minute(limits, now), limited_today(now)
    headroom = float(limits.configured("headroom"))

    def cell(row: ModelLimit, rate: str) -> Cell:
        name, own, told = field(row.model, rate), getattr(row, rate), getattr(row, f"told_{rate}")
        return Cell(
            name=name,
            label=NAMES[rate],
            value=(typed or {}).get(name, "" if own is None else f"{own:,}"),
            placeholder=f"{limits.configured(rate):,}",
            used=used[row.model][rate],
            allowed=row.allowed(rate, limits) * headroom,
            told=told if told is not None and told < (own or limits.configured(rate)) else None,
            error=(errors or {}).get(name, ""),
        )

    return [
        ModelRow(name, [cell(row, rate) for rate in RATES], limited[name])
        for name, row in models.items()
    ]


def field(model: str, rate: str) -> str:
    """The name of the field for a limit; that of all models has no model in it."""
    return f"{rate} {model}".rstrip()


def worker_rows(limits: Limits, now: datetime) -> list[WorkerRow]:
    """Workers that live, and those that were lost lately."""
    workers = Worker.objects.filter(lease_until__gt=now - GONE_SHOWN).order_by("fenced", "node")
    live = Attempt.objects.live().filter(pk__gte=limits.oldest_live, worker__isnull=False)
    held: dict[int | None, Mapping[str, Any]] = {
        row["worker"]: dict(row)
        for row in live.order_by().values("worker").annotate(slots=Sum("slot"), first=Min("pk"))
    }
    firsts = Attempt.objects.filter(pk__in=[row["first"] for row in held.values()])
    oldest = {one.worker_id: one for one in firsts.select_related("item", "batch")}
    return [
        WorkerRow(
            worker,
            _state(worker, now),
            held.get(worker.pk, {}).get("slots", 0),
            oldest.get(worker.pk),
        )
        for worker in workers[:20]
    ]


def pause_rows(models: dict[str, ModelLimit], now: datetime) -> list[PauseRow]:
    """Models that are left alone for now, why, and what that holds up."""
    until = {
        name: row.paused_until
        for name, row in models.items()
        if row.paused_until is not None and row.paused_until > now
    }
    left = F("total") - F("succeeded") - F("dead") - F("cancelled")
    waiting: dict[str, Mapping[str, Any]] = {
        row["version__model"]: dict(row)
        for row in Batch.objects.filter(state__in=OPEN_BATCH, version__model__in=until)
        .order_by()
        .values("version__model")
        .annotate(batches=Count("pk"), left=Sum(left))
    }
    return [
        PauseRow(
            name,
            moment,
            outages.why(models[name].unanswered_as) if models[name].in_outage else RATE_LIMITED,
            waiting.get(name, {}).get("batches", 0),
            waiting.get(name, {}).get("left", 0),
        )
        for name, moment in until.items()
    ]


def _state(worker: Worker, now: datetime) -> str:
    if worker.fenced or worker.lease_until <= now:
        return "gone"
    return "alive" if worker.consumed_at > now - SILENT_AFTER else "silent"
