"""The gate: a random sample, a person's verdicts, and the one door for results."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from batchboard.drawing import draw
from batchboard.models.approving import Approving
from batchboard.models.decision import decision
from batchboard.models.event import Event
from batchboard.models.item import Item
from batchboard.models.reserving import Reserving
from batchboard.models.review import Review, ReviewState, SampledItem, Verdict
from batchboard.roles import Right, require
from batchboard.sampling import default_size
from batchboard.states import BatchState, MoveRefused, standing

if TYPE_CHECKING:
    from batchboard.models.batch import Batch

SMALLEST_SAMPLE = 3


class Reviewing(Approving, Reserving):
    """What a reviewer does with a batch, and what the gate lets out."""

    @property
    def open_review(self: "Batch") -> Review:
        """The review that waits for a decision. Raises MoveRefused where there is none."""
        review = self.reviews.filter(state=ReviewState.OPEN).first()
        if review is None:
            raise MoveRefused(f"{self.name} is {standing(self.state)}: there is no open review.")
        return review

    def sample(self: "Batch") -> Iterator[dict[str, Any]]:
        """The drawn results in the order of the draw: key, input, output, verdict, note."""
        review = self.reviews.exclude(state=ReviewState.CLOSED).order_by("-id").first()
        if review is None:
            raise MoveRefused(
                f"{self.name} is {standing(self.state)}: nothing was drawn for review yet."
            )
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
        """Give a verdict on a drawn result, until the decision; a fail needs a note. Over the
        verdict of another person only once that is taken back: who judges from a page that is
        behind would undo it unseen."""
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
        require(by, Right.REVIEW, f"draw more results of {self.name}")
        with decision():
            review = self.open_review
            size = review.sampled.count() + count
            added = self._draw(review, self._result_keys(), size)
            Event.objects.record("review.drew_more", by=by, batch=self, count=added)
            self._announce()
        return added

    def released_results(self: "Batch") -> Iterator[dict[str, Any]]:
        """The one door for results: key, input, output and cost of every succeeded item, in the
        file's order. Raises MoveRefused unless a person approved the batch."""
        self.refresh_from_db(fields=["state"])
        if self.state != BatchState.RELEASED:
            raise MoveRefused(
                f"{self.name} is {standing(self.state)}: its results leave only after a person"
                " approved them."
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
        size = max(SMALLEST_SAMPLE, self.sample_size or default_size(len(keys)))
        self._draw(review, keys, size)

    def _draw(self: "Batch", review: Review, keys: list[str], size: int) -> int:
        drawn = set(review.sampled.values_list("item__key", flat=True))
        chosen = [key for key in draw(review.seed, keys, size) if key not in drawn]
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
        with decision():
            review = self.open_review
            drawn = (
                review.sampled.filter(item__key=key)
                .select_related("reserved_by", "judged_by")
                .first()
            )
            if drawn is None:
                raise MoveRefused(f"{key} is not in the sample of {self.name}.")
            if verdict and by and drawn.judged_by not in {None, by}:
                raise MoveRefused(
                    f"{drawn.judged_by} judged {key} already ({drawn.verdict}): nothing was"
                    " changed. Take that verdict back to judge it anew."
                )
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
