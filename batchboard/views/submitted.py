"""Where the message batches of a batch stand, in the words of its card."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from batchboard.models import Batch, Submission
from batchboard.states import BatchState, SubmissionState
from batchboard.views.reasons import Reason

S = SubmissionState
THERE = {S.WORKING, S.COLLECTING}
LONGEST = timedelta(hours=24)
"""The provider ends a message batch after so long, whatever of it was worked on."""


UNDER_WAY = {
    S.PREPARING: "waits to be sent",
    S.READY: "waits to be sent",
    S.SENDING: "on the way to the provider",
    S.COLLECTING: "its result comes in",
}


@dataclass(frozen=True)
class Submitted:
    """What a batch waits for. `there` are the requests that the provider has or had and whose
    results are not in; `usually` is when it is expected to be done, and `latest` when it is done in
    any case, None where something is still to be sent."""

    reason: Reason
    there: int
    is_sent: bool
    usually: datetime | None
    latest: datetime | None

    def seconds_left(self, now: datetime) -> float | None:
        """None where it takes longer than usual: nobody can tell any more."""
        if self.usually is None or self.usually <= now:
            return None
        return (self.usually - now).total_seconds()


def submitted(batches: Sequence[Batch]) -> dict[int, Submitted]:
    """By batch, for those of which the provider has something, or gets it next."""
    if not batches:
        return {}
    found: dict[int, list[Submission]] = defaultdict(list)
    rows = Submission.objects.open().filter(batch__in=batches).select_related("batch")
    for row in rows.order_by("pk"):
        found[row.batch_id].append(row)
    return {batch: _submitted(submissions) for batch, submissions in found.items()}


def under_way(one: Submission) -> str:
    """Where a request of it is that has not ended."""
    return UNDER_WAY.get(S(one.state), "with the provider")


def _submitted(rows: list[Submission]) -> Submitted:
    sent = [row.sent_at for row in rows if row.state == S.WORKING and row.sent_at]
    batch, all_sent = rows[0].batch, all(row.sent_at for row in rows)
    to_come = batch.total - batch.ended - _sum(rows, "unsettled")
    takes = _seconds_to_come(batch)
    return Submitted(
        reason=_reason(rows),
        there=sum(row.unsettled for row in rows if row.state in THERE),
        is_sent=all_sent,
        usually=max(sent) + timedelta(seconds=takes) if sent and takes else None,
        latest=max(sent) + LONGEST if sent and all_sent and not to_come else None,
    )


def _seconds_to_come(batch: Batch) -> float | None:
    """What the estimate gives for the rounds of N that have not ended."""
    if batch.estimate_seconds is None:
        return None
    n = batch.concurrency or max(1, batch.total)
    rounds, left = -(-batch.total // n), -(-(batch.total - batch.ended) // n)
    return batch.estimate_seconds * left / max(1, rounds)


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
        if unsent := _sum([row for row in rows if row.sent_at is None], "requests"):
            number += f", {unsent:,} more to be sent"
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
