"""Reservations: which drawn result a person is judging, so that two do not judge the same one.

A reservation is a name and a time on the drawn result itself. It is taken and renewed by one
conditional UPDATE of that row, which alone says who won, and it runs out by itself.
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from django.db import models, transaction
from django.db.models import Case, Q, When
from django.utils import timezone

from batchboard import signals
from batchboard.roles import Right, require
from batchboard.states import MoveRefused

if TYPE_CHECKING:
    from batchboard.models.batch import Batch
    from batchboard.models.review import SampledItem  # noqa: F401 - mypy reads it in quotes

RESERVED_FOR = timedelta(minutes=10)


class SampledItemQuerySet(models.QuerySet["SampledItem"]):
    def judged(self) -> Self:
        return self.exclude(verdict="")

    def unjudged(self) -> Self:
        return self.filter(verdict="")

    def held_by(self, person: Any) -> Self:
        """Those that a person is judging now."""
        return self.filter(reserved_by=person, reserved_until__gt=timezone.now())

    def free_for(self, person: Any) -> Self:
        """Those that no other person is judging now. Its conditions are columns of the row itself,
        so that an UPDATE looks at them again after it waited for another one."""
        ran_out = Q(reserved_until__lte=timezone.now())
        return self.filter(Q(reserved_by=None) | Q(reserved_by=person) | ran_out)


class Reserving:
    """Who judges which of a batch's drawn results."""

    def reserve(self: "Batch", key: str, by: Any) -> bool:
        """Hold a drawn result for ten minutes, or hold on to it. False where another person holds
        it, or it is judged. A person holds one result: what they held before is free again."""
        require(by, Right.REVIEW, "judge results")
        drawn = self.open_review.sampled.filter(item__key=key).first()
        if drawn is None:
            raise MoveRefused(f"{key} is not in the sample of {self.name}.")
        return self._hold(drawn.pk, by)

    def reserve_next(self: "Batch", by: Any, after: str = "") -> str | None:
        """Hold the next result that nobody judged and no other person holds, in the order of the
        draw after the one named and from the beginning again. None where there is none."""
        require(by, Right.REVIEW, "judge results")
        sampled = self.open_review.sampled
        place = sampled.filter(item__key=after).values_list("place", flat=True).first() or 0
        earlier = Case(When(place__gt=place, then=0), default=1)
        free = sampled.unjudged().free_for(by).order_by(earlier, "place")
        for pk, key in free.values_list("pk", "item__key"):
            if self._hold(pk, by):
                return key
        return None

    def hand_back(self: "Batch", by: Any) -> None:
        """Let go of what a person holds here, for whoever comes next."""
        if self._let_go(by):
            self._announce_holder()

    def _hold(self: "Batch", pk: int, by: Any) -> bool:
        until = timezone.now() + RESERVED_FOR
        wanted = self._sampled().filter(pk=pk).unjudged()
        if wanted.held_by(by).update(reserved_until=until):
            return True
        if not wanted.free_for(by).update(reserved_by=by, reserved_until=until):
            return False
        self._let_go(by, but=pk)
        self._announce_holder()
        return True

    def _let_go(self: "Batch", by: Any, but: int | None = None) -> int:
        held = self._sampled().filter(review__batch=self).held_by(by).exclude(pk=but)
        found = self._sampled().filter(pk__in=list(held.values_list("pk", flat=True)))
        return found.held_by(by).update(reserved_by=None, reserved_until=None)

    def _announce_holder(self: "Batch") -> None:
        public_id = self.public_id
        transaction.on_commit(lambda: signals.announce_batch(public_id))

    @staticmethod
    def _sampled() -> SampledItemQuerySet:
        from batchboard.models.review import SampledItem

        return SampledItem.objects.all()
