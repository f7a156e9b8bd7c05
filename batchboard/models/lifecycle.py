"""The verbs that move a batch through its life, each one conditional UPDATE and its event."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone

from batchboard import signals
from batchboard.models.attempt import Attempt
from batchboard.models.decision import decision
from batchboard.models.event import Event
from batchboard.models.limits import Limits
from batchboard.models.pair_tally import PairTally
from batchboard.models.prices import why_not
from batchboard.models.tally import Tally
from batchboard.models.tallying import measured
from batchboard.roles import Right, require
from batchboard.states import (
    BATCH_MOVES,
    BatchState,
    Block,
    MoveRefused,
    standing,
)

if TYPE_CHECKING:
    from batchboard.models.batch import Batch
    from batchboard.models.item import ItemQuerySet


class Lifecycle:
    """Starting, pausing, resuming, cancelling, finishing, and sending dead items again."""

    def start(self: "Batch", by: Any = None) -> None:
        """Queue a draft. One whose model has no known price needs the choice to run unpriced."""
        require(by, Right.OPERATE, f"start {self.name}")
        if self.experimental:
            raise MoveRefused(
                f"{self.name} is an arm of an experiment: start that, so that all begin together."
            )
        self._start(by)

    def _start(self: "Batch", by: Any) -> None:
        refusal = why_not(
            self.version.model,
            timezone.now(),
            unpriced_ok=self.unpriced_ok,
            budget=self.budget,
            ceiling=Limits.objects.current().configured("budget"),
        )
        if refusal and self.state == BatchState.DRAFT:
            raise MoveRefused(f"{self.name} was not started. {refusal}")
        self._move("start", by, started_by=by)

    def begin(self: "Batch") -> None:
        """The first call was let through: the clock of the deadline starts. Which provider it
        goes to is kept, since what was measured outlives the choice of one."""
        now = timezone.now()
        ends = now + timedelta(seconds=self.deadline) if self.deadline else None
        simulated = settings.PROVIDER_SIMULATED
        self._move(
            "begin", None, started_at=now, deadline_at=ends, simulated=simulated, **_new_pace(now)
        )

    def pause(self: "Batch", by: Any = None) -> None:
        """Let no further call through; calls in flight end and count."""
        require(by, Right.OPERATE, f"pause {self.name}")
        self._move("pause", by, paused_by=by, waits_for="", waits_until=None)

    def resume(self: "Batch", by: Any = None) -> None:
        """Go on after a pause, or after a person dealt with what blocked the batch."""
        require(by, Right.OPERATE, f"resume {self.name}")
        with decision():
            if self.blocked:
                self.unblock(by)
                if self.state != BatchState.PAUSED:
                    return
            verb = "resume" if self.started_at else "requeue"
            self._move(verb, by, paused_by=None, **_new_pace(timezone.now()))

    def unblock(self: "Batch", by: Any = None) -> None:
        """Clear a block; a look is counted as taken, a deadline starts anew."""
        require(by, Right.OPERATE, f"resume {self.name}")
        was = self.blocked
        changes: dict[str, Any] = {"blocked": "", "blocked_detail": "", "waits_for": ""}
        changes |= _new_pace(timezone.now())
        if was == Block.FIRST_LOOK:
            changes["looked"] = True
        if was == Block.DEADLINE and self.deadline:
            changes["deadline_at"] = timezone.now() + timedelta(seconds=self.deadline)
        with decision():
            standing = type(self).objects.unfinished().filter(pk=self.pk, blocked=was)
            if not standing.update(**changes):
                raise MoveRefused(f"{self.name} is no longer blocked: nothing to resume.")
            Event.objects.record("batch.unblocked", by=by, batch=self, was=was)
            self._announce()
        self.refresh_from_db()

    def block(self: "Batch", reason: Block, detail: str = "") -> bool:
        """Flag the batch as standing still until a person acts. False where it was so already, or
        where no call of it can follow anyway."""
        with decision():
            free = type(self).objects.unfinished().filter(pk=self.pk, blocked="")
            won = bool(
                free.update(blocked=reason, blocked_detail=detail[:300], blocked_at=timezone.now())
            )
            if won:
                Event.objects.record("batch.blocked", batch=self, reason=reason, detail=detail)
                self._announce()
        return won

    def cancel(self: "Batch", by: Any = None) -> None:
        """End the batch: what waits is cancelled now, calls in flight once they are reached."""
        require(by, Right.OPERATE, f"cancel {self.name}")
        with decision():
            self._move("cancel", by, blocked="", waits_for="")
            ended = self.items.waiting().move("cancel")
            type(self).objects.filter(pk=self.pk).update(
                cancelled=F("cancelled") + ended, finished_at=timezone.now()
            )
            # The provider is told at once: what it works on until then is paid.
            self.submissions.open().update(next_at=None)
            self._close_review()
        self.refresh_from_db()

    def retry(
        self: "Batch",
        keys: Collection[str] | None = None,
        by: Any = None,
        among: "ItemQuerySet | None" = None,
    ) -> int:
        """Send dead items again, all, those named, or those `among`; returns how many.

        A batch in review goes back to running, and its review is opened anew when they ended.
        """
        require(by, Right.OPERATE, f"send items of {self.name} again")
        with decision():
            self.refresh_from_db()
            if self.state not in {
                BatchState.QUEUED,
                BatchState.RUNNING,
                BatchState.PAUSED,
                BatchState.REVIEW,
            }:
                raise MoveRefused(
                    f"{self.name} is {standing(self.state)}: its items cannot be sent again."
                )
            chosen = self.items.dead() if among is None else among.filter(batch=self).dead()
            chosen = chosen if keys is None else chosen.filter(key__in=keys)
            if keys is not None:
                unknown = set(keys) - set(chosen.values_list("key", flat=True))
                if unknown:
                    names = ", ".join(sorted(unknown)[:5])
                    raise MoveRefused(f"Not a dead item of {self.name}: {names}. None was sent.")
            newest = Attempt.objects.aggregate(newest=Max("id"))["newest"] or 0
            count = chosen.move("revive", due_at=timezone.now(), tries_since=newest)
            if not count:
                raise MoveRefused(f"{self.name} has no dead items to send again.")
            type(self).objects.filter(pk=self.pk).update(dead=F("dead") - count)
            Event.objects.record("items.sent_again", by=by, batch=self, count=count)
            if self.state == BatchState.REVIEW:
                self._close_review()
                Tally.objects.filter(pk=self.pk).delete()
                PairTally.objects.filter(experiment__arms__batch=self).delete()
                self._move("reopen", by, finished_at=None, **_new_pace(timezone.now()))
            self._announce()
        self.refresh_from_db()
        return count

    def finish(self: "Batch") -> bool:
        """Ask for review once every item ended, and store what they did and cost in sums. False
        where it has not, or another was first."""
        self.refresh_from_db()
        if self.ended < self.total or self.state not in BATCH_MOVES["finish"].sources:
            return False
        # Before the lock is taken: of very many items this takes a while.
        keys = list(self.items.succeeded().values_list("key", flat=True))
        (sums,) = measured([self])
        summed = self._progress
        with decision():
            self.refresh_from_db()
            if self.state not in BATCH_MOVES["finish"].sources or self._progress != summed:
                return False
            if self.items.succeeded().count() != len(keys):
                return False
            self._move("finish", None, finished_at=timezone.now(), blocked="", waits_for="")
            Tally.objects.keep(self, sums)
            self._open_review(keys)
        if self.experimental:
            PairTally.objects.catch_up()
        return True

    @property
    def _progress(self: "Batch") -> tuple[Any, ...]:
        return self.succeeded, self.dead, self.cancelled, self.cost, self.unknown_cost

    def _move(
        self: "Batch", verb: str, by: Any, told: dict[str, Any] | None = None, **changes: Any
    ) -> None:
        """Make the move, with `changes` of columns beside it; `told` goes into its event."""
        move = BATCH_MOVES[verb]
        with decision():
            won = (
                type(self)
                .objects.filter(pk=self.pk, state__in=move.sources)
                .update(state=move.target, **changes)
            )
            self.refresh_from_db()
            if not won:
                *others, last = sorted(move.sources)
                sources = f"{', '.join(others)} or {last}" if others else last
                raise MoveRefused(
                    f"{self.name} is {standing(self.state)}: {verb} is possible only from"
                    f" {sources}."
                )
            Event.objects.record(f"batch.{verb}", by=by, batch=self, **(told or {}))
            self._announce()

    def _announce(self: "Batch") -> None:
        public_id = self.public_id
        transaction.on_commit(lambda: signals.announce_batch(public_id))
        transaction.on_commit(signals.announce_work)


def _new_pace(now: datetime) -> dict[str, Any]:
    """Columns of a batch whose items are sent from now on: the time before tells nothing of it."""
    return {"pace_since": now, "pace_from": F("succeeded") + F("dead") + F("cancelled")}
