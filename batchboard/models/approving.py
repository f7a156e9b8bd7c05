"""The decision on a review: the results go, or they do not and their items may go again."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.db import models
from django.utils import timezone

from batchboard.models.copying import copies
from batchboard.models.decision import decision
from batchboard.models.review import Review, ReviewState, Verdict
from batchboard.models.run_options import RunOptions
from batchboard.roles import Right, require
from batchboard.states import ItemState, MoveRefused

if TYPE_CHECKING:
    from batchboard.models.batch import Batch
    from batchboard.models.item import ItemQuerySet
    from batchboard.models.limits import Limits
    from batchboard.models.task_type import TaskVersion


class Approving:
    """The verbs of the person who decides on a batch."""

    def approve(self: "Batch", by: Any = None, override: str = "") -> None:
        """Let the results go. Every drawn result must be judged; more bad ones than the plan
        allows need a reason, and the right to override."""
        require(by, Right.REVIEW, f"approve {self.name}")
        with decision() as limits:
            review = self.open_review
            if not self.lets_approve(by, limits):
                raise MoveRefused("Who started a batch may not approve it: ask another reviewer.")
            self._check_approval(review, by, override.strip())
            self._decide(review, ReviewState.APPROVED, by, override.strip())
            told: dict[str, Any] = {}
            if review.bad > self.allowed_bad:
                told = {"bad": review.bad, "drawn": review.judged, "reason": override.strip()}
            self._move("approve", by, told, decided_at=timezone.now())
            self._move("release", by)

    def reject(
        self: "Batch",
        reason: str,
        by: Any = None,
        rerun: str | None = None,
        version: "TaskVersion | None" = None,
        progress: Callable[[int], None] | None = None,
        with_it: "Callable[[Batch], None] | None" = None,
    ) -> "Batch | None":
        """Refuse the results. With `rerun`, "bad" (failed verdicts and dead items) or "all" items
        are queued again as a new batch, under the newest version of the task type or another.
        `progress` is told how many of those are stored; `with_it` is called in the transaction in
        which they are queued and the results refused."""
        self.check_rejection(reason, by, rerun, version)
        again = self._rerun(rerun, by, version, progress) if rerun else None
        try:
            with decision():
                self._decide(self.open_review, ReviewState.REJECTED, by, reason.strip())
                told = {"reason": reason.strip()} | ({"rerun": rerun} if rerun else {})
                self._move("reject", by, told, decided_at=timezone.now())
                if again is not None:
                    again.arrive(by)
                    again._start(by)
                    if with_it:
                        with_it(again)
        except BaseException:
            if again is not None:
                again.discard()
            raise
        return again

    def check_rejection(
        self: "Batch",
        reason: str,
        by: Any = None,
        rerun: str | None = None,
        version: "TaskVersion | None" = None,
    ) -> None:
        """Raises where `reject` would refuse from the start."""
        require(by, Right.REVIEW, f"reject {self.name}")
        if not reason.strip():
            raise MoveRefused("A rejection needs a reason.")
        if rerun not in {None, "bad", "all"}:
            raise ValueError(f"A rerun is of the bad ones or of all, not {rerun}.")
        if version is not None and version.task_type_id != self.version.task_type_id:
            raise MoveRefused(f"{version} is another task type than that of {self.name}.")
        review = self.open_review
        if rerun and not self.to_send_again(rerun, review).exists():
            raise MoveRefused("No item was judged bad and none is dead: nothing to send again.")

    def to_send_again(self: "Batch", rerun: str, review: Review) -> "ItemQuerySet":
        """The items that a rejection sends again."""
        items = self.items.all()
        if rerun == "all":
            return items
        failed = review.sampled.filter(verdict=Verdict.FAIL).values("item")
        return items.filter(models.Q(pk__in=failed) | models.Q(state=ItemState.DEAD))

    def lets_approve(self: "Batch", person: Any, limits: "Limits") -> bool:
        """False for the person who started the batch, unless the team lets them approve."""
        starter_may = bool(limits.configured("starter_may_approve"))
        return person is None or person != self.started_by or starter_may

    def _check_approval(self: "Batch", review: Review, by: Any, override: str) -> None:
        drawn, judged, bad = review.sampled.count(), review.judged, review.bad
        if not drawn:
            raise MoveRefused(f"{self.name} has no results: there is nothing to approve.")
        if judged < drawn:
            raise MoveRefused(
                f"{drawn - judged} of {drawn} sampled results of {self.name} are not judged yet."
            )
        if bad > self.allowed_bad:
            if not override:
                raise MoveRefused(
                    f"{bad} of {drawn} sampled results are bad and the plan allows "
                    f"{self.allowed_bad}: reject the batch, or give a reason to override."
                )
            require(by, Right.ADMINISTER, "approve against the sample")

    @staticmethod
    def _decide(review: Review, state: ReviewState, by: Any, reason: str) -> None:
        review.state, review.decided_by, review.reason = state, by, reason
        review.decided_at = timezone.now()
        review.save(update_fields=["state", "decided_by", "decided_at", "reason"])

    def _rerun(
        self: "Batch",
        which: str,
        by: Any,
        version: "TaskVersion | None",
        progress: Callable[[int], None] | None,
    ) -> "Batch":
        version = version or self.version.newest()
        return type(self).objects.create_with_items(
            name=f"{self.name} (again)"[:200],
            version=version,
            items=copies(self.to_send_again(which, self.open_review), version.prompt),
            options=RunOptions.of(self),
            by=by,
            rerun_of=self,
            progress=progress,
            arrives=False,
        )
