"""What happened to a batch, from its events, in plain words."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import groupby
from typing import Any

from django.db.models import QuerySet

from batchboard.models import Batch, Event, User
from batchboard.states import Block
from batchboard.templatetags.figures import span, usd
from batchboard.templatetags.marks import model_name
from batchboard.views import outages
from batchboard.views.reasons import BLOCKED
from batchboard.wording import many

ENTRIES_SHOWN = 30
EVENTS_READ = 300
"""So many, because the verdicts that a person gives one after the other make one entry."""

SETTINGS = {"budget": "the budget", "concurrency": "N", "priority": "priority",
            "deadline": "the deadline"}  # fmt: skip
VERDICT = "review.judged"
Said = Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True)
class Entry:
    """One line of the activity: who, what, when. Without `who`, the engine did it."""

    id: str
    at: datetime
    who: User | None
    words: str
    icon: str = ""
    tone: str = ""
    is_comment: bool = False


def _blocked(reason: Any) -> str:
    return BLOCKED.get(reason, str(reason)) if reason in list(Block) else str(reason)


def _created(detail: Mapping[str, Any]) -> str:
    return f"created it with {many(detail.get('items', 0), 'item', 'items')}"


def _changed(detail: Mapping[str, Any]) -> str:
    changes = [(name, detail.get(name)) for name in SETTINGS]
    parts = [
        f"{SETTINGS[name]} from {_value(name, change[0])} to {_value(name, change[1])}"
        for name, change in changes
        if isinstance(change, list)
    ]
    return f"changed {', '.join(parts)}" if parts else "changed it"


def _value(name: str, value: Any) -> str:
    if value is None:
        return "none"
    if name == "budget":
        return usd(Decimal(value))
    return span(float(value)) if name == "deadline" else str(value)


def _cut(detail: Mapping[str, Any]) -> str:
    seconds = detail.get("seconds")
    after = f" with retry-after {seconds:g} s" if isinstance(seconds, int | float) else ""
    return (
        f"429{after}: all on {model_name(str(detail.get('model', '')))} wait, and the cap is cut"
        f" from {detail.get('before')} to {detail.get('after')}"
    )


def _exported(detail: Mapping[str, Any]) -> str:
    name = str(detail.get("format", "")).upper()
    return f"exported {many(detail.get('count', 0), 'result', 'results')} as {name}"


def _items_cancelled(detail: Mapping[str, Any]) -> str:
    return f"cancelled {many(detail.get('count', 0), 'waiting item', 'waiting items')}"


def _sent_again(detail: Mapping[str, Any]) -> str:
    return f"sent {many(detail.get('count', 0), 'dead item', 'dead items')} again"


def _judged(detail: Mapping[str, Any]) -> str:
    return f"judged {detail.get('key', '')}: {detail.get('verdict', '')}"


def _approved(detail: Mapping[str, Any]) -> str:
    if "reason" not in detail:
        return "approved the results"
    bad = f"{detail.get('bad', 0):,} bad of {detail.get('drawn', 0):,}"
    return f"approved the results against the sample ({bad}): {detail['reason']}"


def _rejected(detail: Mapping[str, Any]) -> str:
    again = {"bad": ", the bad ones to go again", "all": ", all to go again"}
    words = f"rejected the results{again.get(detail.get('rerun', ''), '')}"
    return f"{words}: {detail['reason']}" if "reason" in detail else words


WORDS: Mapping[str, tuple[Said, str, str]] = {
    "batch.arrive": (_created, "plus", ""),
    "batch.start": (lambda _: "started it", "play", "run"),
    "batch.begin": (lambda _: "first items let through", "play", "run"),
    "batch.pause": (lambda _: "paused it", "pause", "hold"),
    "batch.resume": (lambda _: "resumed it", "play", "run"),
    "batch.requeue": (lambda _: "resumed it", "play", "run"),
    "batch.finish": (lambda _: "every item ended: it waits for review", "eye", "person"),
    "batch.reopen": (lambda _: "opened it again", "again", "run"),
    "batch.approve": (_approved, "check", "ok"),
    "batch.release": (lambda _: "released the results", "check", "ok"),
    "batch.reject": (_rejected, "cross", "dead"),
    "batch.cancel": (lambda _: "cancelled it", "cross", "dead"),
    "batch.blocked": (lambda d: f"blocked: {_blocked(d.get('reason', ''))}", "alert", "person"),
    "batch.unblocked": (lambda d: f"went on after: {_blocked(d.get('was', ''))}", "play", "run"),
    "batch.changed": (_changed, "dot", ""),
    "items.cancelled": (_items_cancelled, "cross", "dead"),
    "results.exported": (_exported, "download", "ok"),
    "limits.cut": (_cut, "pause", "hold"),
    "limits.outage": (partial(outages.words, "limits.outage"), "alert", "hold"),
    "limits.answered": (partial(outages.words, "limits.answered"), "play", "run"),
    "items.sent_again": (_sent_again, "again", "run"),
    VERDICT: (_judged, "eye", "person"),
    "review.took_back": (
        lambda d: f"took back the verdict on {d.get('key', '')}", "eye", "person"
    ),
    "review.drew_more": (lambda d: f"drew {d.get('count', 0)} more for review", "eye", "person"),
}  # fmt: skip


def activity(batch: Batch) -> list[Entry]:
    """Events, comments, and cuts of the cap that came from the batch's model: the newest
    ones, in the order in which they happened."""
    comments = batch.comments.select_related("author").order_by("-id")[:ENTRIES_SHOWN]
    entries = [_entry(run) for run in _runs(events_of(batch, EVENTS_READ))]
    entries += [
        Entry(f"comment-{one.pk}", one.at, one.author, one.text, is_comment=True)
        for one in comments
    ]
    entries.reverse()  # those of one moment stay in their order
    return sorted(entries, key=lambda entry: entry.at)[-ENTRIES_SHOWN:]


def events_of(batch: Batch, count: int) -> list[Event]:
    """The newest events of the batch, and of the installation what concerned its calls."""
    events = list(batch.events.select_related("actor").order_by("-id")[:count])
    return events + list(cuts_of(batch)[:count])


def cuts_of(batch: Batch) -> QuerySet[Event]:
    """Cuts of the cap by a 429 on the batch's model, and outages of it, while it ran."""
    if batch.started_at is None:
        return Event.objects.none()
    cuts = Event.objects.filter(
        batch=None,
        verb__in=["limits.cut", *outages.VERBS],
        at__gte=batch.started_at,
        detail__model=batch.version.model,
    )
    if batch.finished_at is not None:
        cuts = cuts.filter(at__lte=batch.finished_at)
    return cuts.select_related("actor").order_by("-id")


def _runs(events: list[Event]) -> list[list[Event]]:
    """Events one by one, the newest first; verdicts that one person gave one after the other
    stand together, so that a review does not push everything else out."""
    runs = groupby(events, lambda one: (VERDICT, one.actor_id) if one.verb == VERDICT else one.pk)
    return [list(run) for _, run in runs]


def _entry(run: list[Event]) -> Entry:
    newest, oldest = run[0], run[-1]
    said, icon, tone = WORDS.get(newest.verb, (lambda _: newest.verb, "dot", ""))
    words = said(newest.detail) if len(run) == 1 else _judged_many(run)
    if newest.actor is None:
        words = _without_actor(words)
    return Entry(f"event-{oldest.pk}", newest.at, newest.actor, words, icon, tone)


def _judged_many(run: list[Event]) -> str:
    verdicts = {one.detail.get("key"): one.detail.get("verdict") for one in reversed(run)}
    fails = sum(verdict == "fail" for verdict in verdicts.values())
    results = many(len(verdicts), "result", "results")
    return f"judged {results}: {len(verdicts) - fails:,} pass, {fails:,} fail"


def _without_actor(words: str) -> str:
    """What nobody signed in did: "paused it" is "Paused"."""
    bare = re.sub(r"^(\w+) it\b", r"\1", words)
    return bare[:1].upper() + bare[1:]
