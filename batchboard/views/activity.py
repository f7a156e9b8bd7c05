"""What happened to a batch, from its events, in plain words."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from batchboard.models import Batch, Event
from batchboard.states import Block
from batchboard.views.reasons import BLOCKED

EVENTS_SHOWN = 30

Said = Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True)
class Entry:
    """One line of the activity: who, what, when."""

    event: Event
    words: str
    icon: str
    tone: str


def _plural(number: Any, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {many}"


def _blocked(reason: Any) -> str:
    return BLOCKED.get(reason, str(reason)) if reason in list(Block) else str(reason)


def _created(detail: Mapping[str, Any]) -> str:
    return f"created it with {_plural(detail.get('items', 0), 'item', 'items')}"


def _sent_again(detail: Mapping[str, Any]) -> str:
    return f"sent {_plural(detail.get('count', 0), 'dead item', 'dead items')} again"


def _judged(detail: Mapping[str, Any]) -> str:
    return f"judged {detail.get('key', '')}: {detail.get('verdict', '')}"


WORDS: Mapping[str, tuple[Said, str, str]] = {
    "batch.arrive": (_created, "plus", ""),
    "batch.start": (lambda _: "started it", "play", "run"),
    "batch.begin": (lambda _: "first call let through", "play", "run"),
    "batch.pause": (lambda _: "paused it", "pause", "hold"),
    "batch.resume": (lambda _: "resumed it", "play", "run"),
    "batch.requeue": (lambda _: "resumed it", "play", "run"),
    "batch.finish": (lambda _: "every item ended: it waits for review", "eye", "person"),
    "batch.reopen": (lambda _: "opened it again", "again", "run"),
    "batch.approve": (lambda _: "approved the results", "check", "ok"),
    "batch.release": (lambda _: "released the results", "check", "ok"),
    "batch.reject": (lambda _: "rejected the results", "cross", "dead"),
    "batch.cancel": (lambda _: "cancelled it", "cross", "dead"),
    "batch.blocked": (lambda d: f"blocked: {_blocked(d.get('reason', ''))}", "alert", "person"),
    "batch.unblocked": (lambda d: f"went on after: {_blocked(d.get('was', ''))}", "play", "run"),
    "items.sent_again": (_sent_again, "again", "run"),
    "review.judged": (_judged, "eye", "person"),
    "review.took_back": (
        lambda d: f"took back the verdict on {d.get('key', '')}", "eye", "person"
    ),
    "review.drew_more": (lambda d: f"drew {d.get('count', 0)} more for review", "eye", "person"),
}  # fmt: skip


def activity(batch: Batch) -> list[Entry]:
    """The newest events first."""
    return [
        _entry(event)
        for event in batch.events.select_related("actor").order_by("-id")[:EVENTS_SHOWN]
    ]


def _entry(event: Event) -> Entry:
    said, icon, tone = WORDS.get(event.verb, (lambda _: event.verb, "dot", ""))
    words = said(event.detail)
    if event.actor is None:
        words = _without_actor(words)
    return Entry(event, words, icon, tone)


def _without_actor(words: str) -> str:
    """What nobody signed in did: "paused it" is "Paused"."""
    bare = re.sub(r"^(\w+) it\b", r"\1", words)
    return bare[:1].upper() + bare[1:]
