"""What happened to the limits, in plain words."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Q

from batchboard.models import Event
from batchboard.templatetags.figures import share, usd, usd_per_million
from batchboard.templatetags.marks import model_name
from batchboard.views import outages

SHOWN = 8

TITLES = {
    "concurrency": "Cap",
    "headroom": "Headroom",
    "budget": "Ceiling",
    "budget_period": "Period of the ceiling",
    "starter_may_approve": "Who started a batch may approve it",
    "rpm": "Requests per minute",
    "itpm": "Input tokens per minute",
    "otpm": "Output tokens per minute",
}


@dataclass(frozen=True)
class Entry:
    """One line of the record: `step` is from what to what, `words` is why or by whom."""

    event: Event
    step: str
    words: str
    icon: str
    tone: str


def cap_history() -> list[Entry]:
    """Why the cap is what it is, newest first."""
    told = Q(verb__in=["limits.cut", "limits.grew"]) | Q(
        verb="limits.changed", detail__has_key="concurrency"
    )
    return [_cap(event) for event in _events(told)]


def changes() -> list[Entry]:
    """What people set, paused and resumed, and when the provider was away, newest first."""
    told = Q(
        verb__in=[
            "limits.changed", "limits.paused", "limits.resumed", "price.entered", *outages.VERBS
        ]
    )  # fmt: skip
    return [_change(event) for event in _events(told)]


def changed(detail: Mapping[str, Any]) -> str:
    """What a change was: "Headroom 75 % → 80 %, Cap 20 → 30"."""
    steps = [
        f"{TITLES[name]} {_value(name, detail[name][0])} → {_value(name, detail[name][1])}"
        for name in TITLES
        if name in detail
    ]
    model = detail.get("model")
    return (f"{model_name(model)}: " if model else "") + ", ".join(steps)


def _events(told: Q) -> list[Event]:
    found = Event.objects.filter(told, batch=None).select_related("actor").order_by("-id")
    return list(found[:SHOWN])


def _cap(event: Event) -> Entry:
    detail = event.detail
    if event.verb == "limits.cut":
        words = f"429 on {model_name(detail['model'])}, one cut per episode"
        return Entry(event, f"{detail['before']} → {detail['after']}", words, "down", "hold")
    if event.verb == "limits.grew":
        words = "clean rounds that used the cap"
        return Entry(event, f"{detail['before']} → {detail['after']}", words, "check", "ok")
    before, after = detail["concurrency"]
    return Entry(
        event, f"{before} → {after}", f"set by {event.actor or 'the command line'}", "", ""
    )


def _change(event: Event) -> Entry:
    if event.verb in outages.VERBS:
        words = outages.words(event.verb, event.detail)
        return Entry(event, model_name(event.detail["model"]), words, "dot", "hold")
    who = event.actor or "The command line"
    if event.verb == "limits.paused":
        return Entry(event, str(who), "paused everything", "pause", "wait")
    if event.verb == "limits.resumed":
        return Entry(event, str(who), "resumed everything", "play", "run")
    if event.verb == "price.entered":
        return Entry(event, str(who), _entered(event.detail), "", "")
    return Entry(event, str(who), changed(event.detail), "", "")


def _entered(detail: Mapping[str, Any]) -> str:
    into, out = (usd_per_million(Decimal(detail[kind])) for kind in ("input", "output"))
    return f"entered a price of {model_name(detail['model'])}: {into} in, {out} out per million"


def _value(name: str, value: str | None) -> str:
    if value is None:
        return "none" if name == "budget" else "as for all"
    if name == "budget":
        return usd(Decimal(value))
    if name == "headroom":
        return share(float(value))
    if name == "budget_period":
        return "each month" if value == "month" else "in all"
    if name == "starter_may_approve":
        return "yes" if value == "True" else "no"
    return f"{int(value):,}"
