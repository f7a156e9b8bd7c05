"""What happened to something that recurs, in plain words."""

from batchboard.models import Event
from batchboard.views.people_words import Said
from batchboard.wording import listed

WORDS = {
    "recurring.made": "made it",
    "recurring.changed": "changed",
    "recurring.paused": "paused it",
    "recurring.resumed": "resumed it",
    "recurring.stopped": "it paused by itself",
    "recurring.run": "ran it now, beside its times",
}
NAMES = {
    "name": "the name", "task_type": "the task type", "version": "the version",
    "upload": "the file", "source_batch": "the batch of its items", "command": "the command",
    "key": "the key column", "cron": "the times", "zone": "the time zone",
    "schedule": "the schedule", "mode": "the request mode", "concurrency": "N",
    "first_look": "the first look", "budget": "the budget", "item_timeout": "the item timeout",
    "deadline": "the deadline", "sample_size": "the sample", "priority": "the priority",
    "group_size": "the group size", "allowed_bad": "the bad ones allowed",
}  # fmt: skip


def said(event: Event) -> Said:
    words = WORDS.get(event.verb, event.verb)
    if event.verb == "recurring.changed":
        names = [NAMES.get(name, name) for name in event.detail.get("changed", [])]
        words += f" {listed(names)}"
    return Said(event, words if event.actor else words[:1].upper() + words[1:])
