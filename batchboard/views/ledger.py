"""The ledger's page: spend by day, task type, model, mode or owner, and the attempts behind it."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_safe

from batchboard import ledger, rows
from batchboard.day_bars import DayBars, Layer, day_bars
from batchboard.ledger import By, Group, Sums, Total
from batchboard.ledger_export import ledger_csv
from batchboard.models import Attempt, Mode, TaskType, TaskVersion, User
from batchboard.models.run_options import mode_words
from batchboard.money import decimals_of
from batchboard.pricing import KINDS, dollars_per_million
from batchboard.templatetags.figures import usd
from batchboard.templatetags.marks import model_name
from batchboard.templatetags.untrusted import visible
from batchboard.views.downloads import pulled
from batchboard.views.failures import said
from batchboard.views.ledger_asked import LedgerAsked
from batchboard.views.tries import TONES
from dispatch.outcome import Outcome

GROUPS_SHOWN = 60
LAYERS = ("first", "second", "third")
ATTEMPTS_SHOWN = 50
TITLES = {
    By.DAY: "Day",
    By.TYPE: "Task type",
    By.MODEL: "Model",
    By.MODE: "Mode",
    By.OWNER: "Owner",
}
KIND_WORDS = dict(
    zip(KINDS, ("in", "out", "written (5 min)", "written (1 h)", "read"), strict=True)
)


@dataclass(frozen=True)
class Line:
    """A row of the table of groups; the last one may hold all that are not shown."""

    label: str
    total: Total
    share: float | None
    address: str = ""
    is_chosen: bool = False


@dataclass(frozen=True)
class Listed:
    """One attempt, with the price that was applied to it, in dollars per million tokens."""

    attempt: Attempt
    name: str
    tone: str
    prices: list[tuple[Decimal, str]]
    source: str


@require_safe
def costs_ledger(request: HttpRequest) -> HttpResponse:
    asked = LedgerAsked.of(request.GET, rows.now().date())
    sums = ledger.sums(asked.chosen, asked.by)
    listed = ledger.newest(asked.listed, ATTEMPTS_SHOWN + 1, asked.after)
    lines = _lines(asked, sums)
    context = {
        "asked": asked,
        "by": [(str(by), title) for by, title in TITLES.items()],
        "title": TITLES[asked.by],
        "task_types": TaskType.objects.order_by("name").values_list("pk", "name"),
        "models": TaskVersion.objects.order_by("model").values_list("model", flat=True).distinct(),
        "modes": Mode.values,
        "people": User.objects.order_by("first_name", "last_name", "username"),
        "nobody": (ledger.NOBODY, ledger.NOBODY_NAME),
        "sums": sums,
        "total": sums.total,
        "lines": lines,
        "plot": _plot(asked, sums) if sums.groups else None,
        "chosen": next((line.label for line in lines if line.is_chosen), ""),
        "attempts": [_listed(attempt) for attempt in listed[:ATTEMPTS_SHOWN]],
        "decimals": decimals_of(attempt.cost for attempt in listed[:ATTEMPTS_SHOWN]),
        "rest": asked.rest(listed[ATTEMPTS_SHOWN - 1].pk) if len(listed) > ATTEMPTS_SHOWN else "",
        "csv": asked.address(group=asked.group),
        "is_new": not sums.groups and not Attempt.objects.ended().exists(),
    }
    return render(request, "costs/ledger.html", context)


@require_GET
def costs_ledger_csv(request: HttpRequest) -> HttpResponseBase:
    """The attempts that the page with the same query counts."""
    asked = LedgerAsked.of(request.GET, rows.now().date())
    pieces = ledger_csv(asked.listed)
    response = StreamingHttpResponse(
        pulled(pieces) if isinstance(request, ASGIRequest) else pieces,
        content_type="text/csv; charset=utf-8",
    )
    response["Content-Disposition"] = 'attachment; filename="ledger.csv"'
    response["Cache-Control"] = "no-store"
    return response


def _lines(asked: LedgerAsked, sums: Sums) -> list[Line]:
    """The groups as rows; what does not fit is one more row, so that they add up."""
    lines = [
        Line(
            _label(asked.by, group),
            group.total,
            sums.share(group),
            asked.shows(group.key),
            group.key == asked.group,
        )
        for group in sums.groups[:GROUPS_SHOWN]
    ]
    if rest := sums.groups[GROUPS_SHOWN:]:
        together = Group("", f"{len(rest):,} others", Total())
        for group in rest:
            together.total.add(group.total)
        lines.append(Line(together.label, together.total, sums.share(together)))
    return lines


def _label(by: By, group: Group) -> str:
    if by is By.DAY:
        day = date.fromisoformat(group.key)
        return f"{day:%a}, {day:%b} {day.day}, {day.year}"
    if by is By.MODE:
        return mode_words(group.label)
    return model_name(group.label) if by is By.MODEL else group.label


def _plot(asked: LedgerAsked, sums: Sums) -> DayBars:
    """Known cost by day in layers of groups, and the bound of what is unknown on top."""
    days = {day for day, _ in sums.by_day}
    since = asked.chosen.since or min(days)
    until = asked.chosen.until or max(asked.today, *days)
    own = (
        {} if asked.by is By.DAY else dict(zip((g.key for g in sums.groups), LAYERS, strict=False))
    )
    costs: dict[str, dict[date, float]] = {}
    unknown: dict[date, float] = {}
    for (day, key), total in sums.by_day.items():
        layer = costs.setdefault(own.get(key, "other"), {})
        layer[day] = layer.get(day, 0.0) + float(total.cost)
        unknown[day] = unknown.get(day, 0.0) + float(total.unknown_cost)
    names = {own[g.key]: visible(_label(asked.by, g)) for g in sums.groups if g.key in own}
    names["other"] = "others" if own else "known cost"
    layers = [
        Layer(names[kind], kind if own else "first", costs[kind])
        for kind in (*LAYERS, "other")
        if any(costs.get(kind, {}).values())
    ]
    if any(unknown.values()):
        layers.append(Layer("unknown, at most", "unknown", unknown))
    says = (
        f"Cost by day from {since:%b} {since.day} to {until:%b} {until.day}:"
        f" {usd(sums.total.cost)} in all, in layers of {', '.join(one.name for one in layers)}."
    )
    return day_bars(
        "ledger-plot", says, layers, since=since, until=until,
        value=lambda amount: usd(Decimal(str(round(amount, 6)))),
    )  # fmt: skip


def _listed(attempt: Attempt) -> Listed:
    rates = ledger.rates_of(attempt.price, attempt)
    prices = []
    if rates is not None:
        used = {kind: getattr(attempt, f"{kind}_tokens") for kind in KINDS}
        prices = [
            (dollars_per_million(getattr(rates, kind)), KIND_WORDS[kind])
            for kind in KINDS
            if kind in {"input", "output"} or used[kind]
        ]
    return Listed(
        attempt,
        said(attempt.outcome),
        TONES.get(Outcome(attempt.outcome), "dead"),
        prices,
        attempt.price.source if attempt.price else "",
    )
