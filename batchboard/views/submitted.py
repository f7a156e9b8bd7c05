"""Where the message batches of a batch stand, in the words of its card."""

from collections import defaultdict
from collections.abc import Sequence

from batchboard.models import Submission
from batchboard.states import BatchState, SubmissionState
from batchboard.views.reasons import Reason

S = SubmissionState


def submitted(batches: Sequence[int]) -> dict[int, Reason]:
    """By batch, for those of which the provider has something, or gets it next."""
    if not batches:
        return {}
    found: dict[int, list[Submission]] = defaultdict(list)
    rows = Submission.objects.open().filter(batch__in=batches).select_related("batch")
    for row in rows.order_by("pk"):
        found[row.batch_id].append(row)
    return {batch: _reason(submissions) for batch, submissions in found.items()}


def _reason(rows: list[Submission]) -> Reason:
    """Of several, what is nearest to its end."""
    problem = next((f" ({row.problem.rstrip('.')})" for row in rows if row.problem), "")
    tone = "hold" if problem else "wait"
    if coming := [row for row in rows if row.state == S.COLLECTING]:
        left, whole = _sum(coming, "unsettled"), _sum(coming, "requests")
        said = f"Results come in: {whole - left:,} of {whole:,}"
        return Reason(tone, "clock", said + problem)
    if working := [row for row in rows if row.state == S.WORKING]:
        number = _requests(_sum(working, "requests"))
        said = f"With the provider, {number}{problem}: sent"
        if working[0].batch.state == BatchState.CANCELLED:
            said = f"The provider is asked to stop, {number}{problem}: sent"
        return Reason(tone, "clock", said, since=working[0].sent_at, joint=" ")
    if any(row.state == S.SENDING for row in rows):
        return Reason(tone, "clock", f"On the way to the provider, {_all(rows)}{problem}")
    return Reason(tone, "clock", f"Waits to be sent to the provider, {_all(rows)}{problem}")


def _all(rows: list[Submission]) -> str:
    return _requests(_sum(rows, "requests"))


def _requests(number: int) -> str:
    return f"{number:,} request{'s' if number != 1 else ''}"


def _sum(rows: list[Submission], column: str) -> int:
    return sum(getattr(row, column) for row in rows)
