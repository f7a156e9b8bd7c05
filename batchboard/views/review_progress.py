"""How far the reviews of many batches are, and who is at them, in one query."""

from collections.abc import Collection
from dataclasses import dataclass

from django.utils import timezone

from batchboard.models import ReviewState, SampledItem, Verdict


@dataclass(frozen=True)
class ReviewProgress:
    """Counts of one review, and the names of those who judge now."""

    drawn: int = 0
    judged: int = 0
    bad: int = 0
    judging: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """3 of 8 judged, Ada is on it"""
        if not self.drawn:
            return "No result to review"
        said = f"{self.judged:,} of {self.drawn:,} judged"
        if self.judged == self.drawn:
            return f"{said}, {self.bad:,} bad"
        if len(self.judging) > 1:
            return f"{said}, {len(self.judging)} people are on it"
        return f"{said}, {self.judging[0]} is on it" if self.judging else said


def review_progress(batches: Collection[int]) -> dict[int, ReviewProgress]:
    """By primary key of the batch; a batch without an open review, or with nothing drawn, is not
    in it. A sample is small by design, so its rows are read and not grouped."""
    now = timezone.now()
    found: dict[int, ReviewProgress] = {}
    names: dict[int, dict[int, str]] = {}
    rows = (
        SampledItem.objects.filter(review__batch__in=batches, review__state=ReviewState.OPEN)
        .select_related("review", "reserved_by")
        .order_by("place")
    )
    for row in rows:
        batch, person = row.review.batch_id, row.reserved_by
        if person is not None and row.reserved_until and row.reserved_until > now:
            names.setdefault(batch, {})[person.pk] = str(person)
        so_far = found.get(batch, ReviewProgress())
        found[batch] = ReviewProgress(
            drawn=so_far.drawn + 1,
            judged=so_far.judged + bool(row.verdict),
            bad=so_far.bad + (row.verdict == Verdict.FAIL),
            judging=tuple(names.get(batch, {}).values()),
        )
    return found
