"""What a card and a batch page show of batches, read for all of them in a few queries."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from django.db.models import Max
from django.urls import reverse

from batchboard.models import Attempt, Batch, Event, Limits, Mode, Submission
from batchboard.models.run_options import group_size
from batchboard.states import BATCH_MOVES, UNFINISHED_BATCH, BatchState
from batchboard.views.actions import Action, action
from batchboard.views.progress import Progress, cells_of, progress
from batchboard.views.reasons import HELP, SILENT, TIMED, Reason, last_items, reason
from batchboard.views.review_progress import ReviewProgress, review_progress
from batchboard.views.submitted import Submitted, submitted

LONG = timedelta(seconds=10)
"""Most calls end before; the last of a batch is spoken of only when it does not."""

WITHOUT_BAR = {BatchState.DRAFT, BatchState.APPROVED, BatchState.RELEASED}


@dataclass(frozen=True)
class Card:
    """A batch as it stands now."""

    batch: Batch
    in_flight: int
    at_most: int
    progress: Progress | None
    reason: Reason | None
    action: Action | None
    seconds_left: float | None
    seconds_passed: float | None
    with_provider: int = 0
    back_by: datetime | None = None
    """When everything is back that the provider has in message batches."""

    @property
    def to_be_sent(self) -> int:
        """Items that are in message batches which the provider does not have yet."""
        submits = self.batch.mode == Mode.PROVIDER_BATCH
        return self.in_flight - self.with_provider if submits else 0

    @property
    def n(self) -> int:
        """The most calls at once."""
        return self.at_most // _items_in_a_call(self.batch)

    @property
    def waiting(self) -> int:
        return max(0, self.batch.total - self.batch.ended - self.in_flight)

    @property
    def unfinished(self) -> int:
        """Items that have not ended."""
        return self.batch.total - self.batch.ended

    @property
    def names_task_type(self) -> bool:
        """Whether the batch's name says its task type already."""
        return self.batch.version.task_type.name in self.batch.name

    @property
    def dead_waiting_for_a_person(self) -> int:
        """Dead items that can be sent again."""
        may = self.batch.state in UNFINISHED_BATCH | {BatchState.REVIEW}
        return self.batch.dead if may else 0

    @cached_property
    def toggle(self) -> str:
        """The address that pauses or resumes the batch, where one of them is possible."""
        if self._blocked:
            return ""
        if "pause" in self.verbs:
            return reverse("batch-pause", args=[self.batch.public_id])
        if "resume" in self.verbs:
            return reverse("batch-resumption", args=[self.batch.public_id])
        return ""

    @property
    def why_no_toggle(self) -> str:
        """Why the batch can be neither paused nor resumed as it stands."""
        if self._blocked and self.reason:
            return f"{self.reason.text}. {self.help}"
        if self.batch.state == BatchState.DRAFT:
            return "It is a draft: start it first."
        return "Its items have ended: there is nothing to pause."

    @cached_property
    def verbs(self) -> frozenset[str]:
        """What a person may do now."""
        verbs = {verb for verb, move in BATCH_MOVES.items() if self.batch.state in move.sources}
        found = verbs & {"start", "pause", "cancel"}
        if self.batch.state == BatchState.PAUSED or self._blocked:
            found.add("resume")
        return frozenset(found)

    @property
    def help(self) -> str:
        """What would clear the block, where there is one."""
        return HELP.get(self.batch.blocked, "") if self._blocked else ""  # type: ignore[call-overload]

    @property
    def _blocked(self) -> bool:
        return bool(self.batch.blocked) and self.batch.state in UNFINISHED_BATCH


def live_items(limits: Limits) -> dict[int, int]:
    """Items with an attempt that has not ended, by batch: in a call, or with the provider."""
    found = Counter(items_in_calls(limits))
    for submission in Submission.objects.open():
        found[submission.batch_id] += submission.unsettled
    return found


def calls_in_flight(limits: Limits) -> int:
    """Calls under way; several items may share one."""
    return Attempt.objects.live().filter(pk__gte=limits.oldest_live, slot=1).count()


def items_in_calls(limits: Limits) -> dict[int, int]:
    """Items with a live attempt, by batch. Counted here: live attempts are few and the index of
    them finds them, while a GROUP BY would have the database walk over all that ever ended."""
    live = Attempt.objects.live().filter(pk__gte=limits.oldest_live).order_by()
    return Counter(live.values_list("batch_id", flat=True))


def cards(
    batches: Sequence[Batch],
    *,
    limits: Limits,
    live: dict[int, int],
    workers: int,
    now: datetime,
) -> dict[int, Card]:
    """A card for each batch, by its primary key."""
    cells = cells_of(b for b in batches if b.state not in WITHOUT_BAR)
    paused = _paused_at([b.pk for b in batches if b.state == BatchState.PAUSED])
    reviews = review_progress([b.pk for b in batches if b.state == BatchState.REVIEW])
    with_provider = submitted(
        [
            b
            for b in batches
            if b.mode == Mode.PROVIDER_BATCH
            and b.state in UNFINISHED_BATCH | {BatchState.CANCELLED}
        ]
    )
    last = _last_items(batches, limits, live, now)
    found = {}
    for batch in batches:
        running = live.get(batch.pk, 0)
        bar = None if batch.state in WITHOUT_BAR else progress(batch, running, cells.get(batch.pk))
        sent = with_provider.get(batch.pk)
        passed, left = _times(batch, now, sent)
        if batch.pk in last or batch.waits_for in SILENT:
            left = None
        found[batch.pk] = Card(
            batch=batch,
            in_flight=running,
            at_most=_at_most(batch, limits),
            progress=bar,
            reason=reason(
                batch,
                now=now,
                workers=workers,
                paused_at=paused.get(batch.pk),
                review=reviews.get(batch.pk),
                submitted=sent.reason if sent else None,
                last=last.get(batch.pk),
            ),
            action=action(batch, reviews.get(batch.pk, ReviewProgress())),
            seconds_left=left,
            seconds_passed=passed,
            with_provider=sent.there if sent else 0,
            back_by=sent.latest if sent else None,
        )
    return found


def _last_items(
    batches: Sequence[Batch], limits: Limits, live: dict[int, int], now: datetime
) -> dict[int, Reason]:
    """Of the batches of which nothing is left but items in calls, and one of those for long: since
    when."""
    ending = {
        batch.pk: batch
        for batch in batches
        if batch.state == BatchState.RUNNING
        and batch.mode != Mode.PROVIDER_BATCH
        and 0 < batch.total - batch.ended <= live.get(batch.pk, 0)
    }
    if not ending:
        return {}
    sent = Attempt.objects.live().filter(pk__gte=limits.oldest_live, batch__in=ending)
    found: dict[int, list[datetime]] = defaultdict(list)
    for batch, at in sent.values_list("batch_id", "started_at"):
        if at is not None:
            found[batch].append(at)
    return {
        pk: last_items(ending[pk], len(ats), min(ats))
        for pk, ats in found.items()
        if now - min(ats) >= LONG
    }


def _at_most(batch: Batch, limits: Limits) -> int:
    """How many items may be under way at once; the cap holds for calls alone."""
    if batch.mode == Mode.PROVIDER_BATCH:
        return batch.concurrency or batch.total
    return min(batch.concurrency or limits.cap, limits.cap) * _items_in_a_call(batch)


def _items_in_a_call(batch: Batch) -> int:
    return group_size(batch.mode, batch.group_size) if batch.mode == Mode.PACKED else 1


def _times(
    batch: Batch, now: datetime, submitted: Submitted | None
) -> tuple[float | None, float | None]:
    """Seconds since the first call, and the seconds left if it goes on like that."""
    if batch.started_at is None:
        return None, batch.estimate_seconds
    passed = max(0.0, ((batch.finished_at or now) - batch.started_at).total_seconds())
    if batch.state != BatchState.RUNNING or batch.blocked:
        return passed, None
    if submitted and submitted.is_sent:
        return passed, submitted.seconds_left(now)
    if batch.mode == Mode.PROVIDER_BATCH and batch.ended:
        # Results come all at once after a long wait, so how many there are says nothing.
        return passed, None
    left = batch.seconds_left(now)
    return passed, None if left is None else _waits(batch, now) + left


def _waits(batch: Batch, now: datetime) -> float:
    """Seconds until anything of it is sent, where that is known: they come before the rest."""
    until = batch.waits_until if batch.waits_for in TIMED else None
    return max(0.0, (until - now).total_seconds()) if until else 0.0


def _paused_at(batches: list[int]) -> dict[int, datetime]:
    rows = Event.objects.filter(batch__in=batches, verb="batch.pause").order_by()
    return dict(rows.values_list("batch").annotate(at=Max("at")))
