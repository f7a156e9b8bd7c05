"""The gate: a random sample, a person's verdicts, a decision, and the one door for results."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from batchboard import sampling
from batchboard.models.copying import copies
from batchboard.models.event import Event
from batchboard.models.item import Item
from batchboard.models.reserving import Reserving, SampledItemQuerySet
from batchboard.roles import Right, require
from batchboard.states import BatchState, ItemState, MoveRefused

if TYPE_CHECKING:
    from batchboard.models.batch import Batch
    from batchboard.models.limits import Limits
    from batchboard.models.task_type import TaskVersion


SMALLEST_SAMPLE = 3


class ReviewState(models.TextChoices):
    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    CLOSED = "closed", "closed undecided: items were sent again, or the batch was cancelled"


class Verdict(models.TextChoices):
    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"


class Review(models.Model):
    """One asking for review: what was drawn, from how many, and how it was decided."""

    batch = models.ForeignKey("Batch", models.CASCADE, related_name="reviews")
    state = models.CharField(max_length=10, choices=ReviewState, default=ReviewState.OPEN)
    seed = models.CharField(max_length=32)
    population = models.PositiveIntegerField()
    opened_at = models.DateTimeField(auto_now_add=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    decided_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["batch"], condition=models.Q(state="open"), name="one_open_review"
            )
        ]

    def __str__(self) -> str:
        return f"review of {self.batch_id}"

    @property
    def bad(self) -> int:
        return self.sampled.filter(verdict=Verdict.FAIL).count()

    @property
    def judged(self) -> int:
        return self.sampled.exclude(verdict="").count()


class SampledItem(models.Model):
    """One result that was drawn, and what a person said of it."""

    review = models.ForeignKey(Review, models.CASCADE, related_name="sampled")
    item = models.ForeignKey("Item", models.CASCADE)
    place = models.PositiveIntegerField()
    verdict = models.CharField(max_length=4, choices=Verdict, blank=True)
    note = models.TextField(blank=True)
    judged_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    judged_at = models.DateTimeField(null=True)
    reserved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    reserved_until = models.DateTimeField(null=True)

    objects = SampledItemQuerySet.as_manager()

    class Meta:
        ordering = ["place"]
        constraints = [
            models.UniqueConstraint(fields=["review", "item"], name="an_item_is_drawn_once")
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.verdict or 'open'}"

    @property
    def output(self) -> str:
        """The answer as it came, for the person who judges it."""
        return self.item.result.answer.text if self.item.result else ""


class Reviewing(Reserving):
    """What a reviewer does with a batch, and what the gate lets out."""

    @property
    def open_review(self: "Batch") -> Review:
        """The review that waits for a decision. Raises MoveRefused where there is none."""
        review = self.reviews.filter(state=ReviewState.OPEN).first()
        if review is None:
            raise MoveRefused(f"{self.name} is {self.state}: there is no open review.")
        return review

    def sample(self: "Batch") -> Iterator[dict[str, Any]]:
        """The drawn results in the order of the draw: key, input, output, verdict, note."""
        review = self.reviews.exclude(state=ReviewState.CLOSED).order_by("-id").first()
        if review is None:
            raise MoveRefused(f"{self.name} is {self.state}: nothing was drawn for review yet.")
        for drawn in review.sampled.select_related("item__input", "item__result__answer"):
            yield {
                "key": drawn.item.key,
                "input": drawn.item.input.data,
                "output": self._output(drawn.item),
                "verdict": drawn.verdict or None,
                "note": drawn.note,
            }

    def drawn_result(self: "Batch", pk: int) -> SampledItem:
        """A drawn result, by its primary key, with its input and its output."""
        related = ("item__input", "item__result__answer")
        return SampledItem.objects.select_related(*related).get(review__batch=self, pk=pk)

    def judge(self: "Batch", key: str, verdict: str, note: str = "", by: Any = None) -> None:
        """Give a verdict on a drawn result, until the decision; a fail needs a note."""
        require(by, Right.REVIEW, f"judge results of {self.name}")
        if verdict == Verdict.FAIL and not note.strip():
            raise MoveRefused("A fail needs a note that says what is wrong.")
        self._set_verdict(key, Verdict(verdict), note.strip(), by)

    def take_back(self: "Batch", key: str, by: Any = None) -> None:
        """Undo a verdict."""
        require(by, Right.REVIEW, f"judge results of {self.name}")
        self._set_verdict(key, "", "", by)

    def draw_more(self: "Batch", count: int, by: Any = None) -> int:
        """Draw `count` further results (as many as are left); the first ones stay drawn."""
        from batchboard.models.lifecycle import decision

        require(by, Right.REVIEW, f"draw more results of {self.name}")
        with decision():
            review = self.open_review
            size = review.sampled.count() + count
            added = self._draw(review, self._result_keys(), size)
            Event.objects.record("review.drew_more", by=by, batch=self, count=added)
            self._announce()
        return added

    def approve(self: "Batch", by: Any = None, override: str = "") -> None:
        """Let the results go. Every drawn result must be judged; more bad ones than the plan
        allows need a reason, and the right to override."""
        from batchboard.models.lifecycle import decision

        require(by, Right.REVIEW, f"approve {self.name}")
        with decision() as limits:
            review = self.open_review
            if not self.lets_approve(by, limits):
                raise MoveRefused("Who started a batch may not approve it: ask another reviewer.")
            self._check_approval(review, by, override.strip())
            self._decide(review, ReviewState.APPROVED, by, override.strip())
            self._move("approve", by, decided_at=timezone.now())
            self._move("release", by)

    def reject(
        self: "Batch",
        reason: str,
        by: Any = None,
        rerun: str | None = None,
        version: "TaskVersion | None" = None,
    ) -> "Batch | None":
        """Refuse the results. With `rerun`, "bad" (failed verdicts and dead items) or "all" items
        are queued again as a new batch, under the newest version of the task type or another."""
        from batchboard.models.lifecycle import decision

        require(by, Right.REVIEW, f"reject {self.name}")
        if not reason.strip():
            raise MoveRefused("A rejection needs a reason.")
        if rerun not in {None, "bad", "all"}:
            raise ValueError(f"A rerun is of the bad ones or of all, not {rerun}.")
        if version is not None and version.task_type_id != self.version.task_type_id:
            raise MoveRefused(f"{version} is another task type than that of {self.name}.")
        again = self._rerun(self.open_review, rerun, by, version) if rerun else None
        try:
            with decision():
                self._decide(self.open_review, ReviewState.REJECTED, by, reason.strip())
                self._move("reject", by, decided_at=timezone.now())
                if again is not None:
                    again.arrive(by)
                    again._start(by)
        except BaseException:
            if again is not None:
                again.discard()
            raise
        return again

    def lets_approve(self: "Batch", person: Any, limits: "Limits") -> bool:
        """False for who started the batch, unless the team lets them approve."""
        starter_may = bool(limits.configured("starter_may_approve"))
        return person is None or person != self.started_by or starter_may

    def released_results(self: "Batch") -> Iterator[dict[str, Any]]:
        """The one door for results: key, input, output and cost of every succeeded item, in the
        file's order. Raises MoveRefused unless a person approved the batch."""
        self.refresh_from_db(fields=["state"])
        if self.state != BatchState.RELEASED:
            raise MoveRefused(
                f"{self.name} is {self.state}: its results leave only after a person approved them."
            )
        return self._results()

    def _results(self: "Batch") -> Iterator[dict[str, Any]]:
        items = self.items.succeeded().order_by("position")
        for item in items.select_related("input", "result__answer").iterator(chunk_size=500):
            yield {
                "key": item.key,
                "input": item.input.data,
                "output": self._output(item),
                "cost_usd": item.cost,
            }

    def _output(self: "Batch", item: Item) -> Any:
        text = item.result.answer.text if item.result else ""
        return text if self.version.contract is None else json.loads(text)

    def _open_review(self: "Batch", keys: list[str]) -> None:
        review = self.reviews.create(seed=self.seed, population=len(keys))
        size = max(SMALLEST_SAMPLE, self.sample_size or sampling.default_size(len(keys)))
        self._draw(review, keys, size)

    def _draw(self: "Batch", review: Review, keys: list[str], size: int) -> int:
        drawn = set(review.sampled.values_list("item__key", flat=True))
        chosen = [key for key in sampling.draw(review.seed, keys, size) if key not in drawn]
        ids = dict(self.items.filter(key__in=chosen).values_list("key", "id"))
        SampledItem.objects.bulk_create(
            SampledItem(review=review, item_id=ids[key], place=len(drawn) + n)
            for n, key in enumerate(chosen)
        )
        return len(chosen)

    def _close_review(self: "Batch") -> None:
        self.reviews.filter(state=ReviewState.OPEN).update(
            state=ReviewState.CLOSED, decided_at=timezone.now()
        )

    def _result_keys(self: "Batch") -> list[str]:
        return list(self.items.succeeded().values_list("key", flat=True))

    def _set_verdict(self: "Batch", key: str, verdict: str, note: str, by: Any) -> None:
        from batchboard.models.lifecycle import decision

        with decision():
            review = self.open_review
            drawn = review.sampled.filter(item__key=key).select_related("reserved_by").first()
            if drawn is None:
                raise MoveRefused(f"{key} is not in the sample of {self.name}.")
            free = SampledItem.objects.filter(pk=drawn.pk).free_for(by)
            if not free.update(
                verdict=verdict,
                note=note,
                judged_by=by if verdict else None,
                judged_at=timezone.now() if verdict else None,
                reserved_by=None,
                reserved_until=None,
            ):
                raise MoveRefused(f"{drawn.reserved_by} is judging {key}: nothing was changed.")
            Event.objects.record(
                "review.judged" if verdict else "review.took_back",
                by=by,
                batch=self,
                key=key,
                verdict=verdict,
                note=note,
            )
            self._announce()

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
        self: "Batch", review: Review, which: str, by: Any, version: "TaskVersion | None"
    ) -> "Batch":
        from batchboard.models.batch import RunOptions

        items = self.items.all()
        if which == "bad":
            failed = review.sampled.filter(verdict=Verdict.FAIL).values("item")
            items = items.filter(models.Q(pk__in=failed) | models.Q(state=ItemState.DEAD))
        if not items.exists():
            raise MoveRefused("No item was judged bad and none is dead: nothing to send again.")
        version = version or self.version.newest()
        return type(self).objects.create_with_items(
            name=f"{self.name} (again)"[:200],
            version=version,
            items=copies(items, version.prompt),
            options=RunOptions.of(self),
            by=by,
            rerun_of=self,
            arrives=False,
        )
