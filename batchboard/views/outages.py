"""What is said of an outage, while it lasts and afterwards."""

from collections.abc import Mapping
from typing import Any

from batchboard.templatetags.figures import span
from batchboard.views.reasons import SILENT
from dispatch.outage import WAITS
from dispatch.outcome import Outcome

VERBS = ("limits.outage", "limits.answered")


def why(outcome: str) -> str:
    """What the provider does, by how its last call ended."""
    return SILENT[WAITS[Outcome(outcome)]]


def words(verb: str, detail: Mapping[str, Any]) -> str:
    """What the event of that verb says."""
    if verb == "limits.answered":
        return f"the provider answers again, after {span(detail['seconds'])}"
    said = why(detail["outcome"])
    return f"{said[0].lower()}{said[1:]}: nothing but a try now and then is sent"
