"""What a person changes of a batch on its way: its limits, which items it still does, and the
record of what was delivered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from batchboard import signals
from batchboard.models.decision import decision
from batchboard.models.event import Event
from batchboard.roles import Right, require
from batchboard.states import UNFINISHED_BATCH, BatchState, Block, MoveRefused, standing

if TYPE_CHECKING:
    from batchboard.models.batch import Batch
    from batchboard.models.item import ItemQuerySet

CHANGEABLE_BATCH = UNFINISHED_BATCH | {BatchState.DRAFT}


@dataclass(frozen=True)
class Setting:
    """One thing that a person may change: what it may be, and how that is said."""

    allowed: Callable[[Any], bool]
    says: str


SETTINGS: Mapping[str, Setting] = {
    "budget": Setting(
        lambda n: n is None or (n.is_finite() and 0 <= n < 100_000_000),
        "an amount from 0 to 100,000,000, or nothing for no budget",
    ),
    "concurrency": Setting(
        lambda n: n is None or 1 <= n <= 10_000,
        "a whole number from 1 to 10,000, or nothing for the whole cap",
    ),
    "priority": Setting(lambda n: -10 <= n <= 10, "a whole number from -10 to 10"),
    "deadline": Setting(
        lambda n: n is None or 1 <= n <= 2_000_000_000,
        "a whole number of seconds from 1 on, or nothing for no deadline",
    ),
}


class NotPossible(ValueError):
    """A value that a setting cannot have; `field` names the setting."""

    def __init__(self, field: str, says: str) -> None:
        super().__init__(says)
        self.field = field


class Changing:
    """Changing limits under way, cancelling some items, and noting what was delivered."""

    def change(self: "Batch", by: Any = None, **values: Any) -> list[str]:
        """Give the batch another budget, N, priority or deadline; the next decision of the
        governor goes by it. Returns the names of what changed.

        More money lifts a block for want of it, and more time one for want of that. Raises
        NotPossible for a value that cannot be, MoveRefused once the batch has ended.
        """
        require(by, Right.OPERATE, "change a batch")
        for name, value in values.items():
            if not SETTINGS[name].allowed(value):
                raise NotPossible(name, f"This must be {SETTINGS[name].says}.")
        with decision():
            self.refresh_from_db()
            if self.state not in CHANGEABLE_BATCH:
                raise MoveRefused(
                    f"{self.name} is {standing(self.state)}: it can no longer be changed."
                )
            before = {name: getattr(self, name) for name in values}
            changed = [name for name, value in values.items() if before[name] != value]
            if not changed:
                return []
            columns = {name: values[name] for name in changed} | self._consequences(changed, values)
            was = self.blocked
            type(self).objects.filter(pk=self.pk).update(**columns)
            Event.objects.record(
                "batch.changed",
                by=by,
                batch=self,
                **{name: [_plain(before[name]), _plain(values[name])] for name in changed},
            )
            if was and columns.get("blocked") == "":
                Event.objects.record("batch.unblocked", by=by, batch=self, was=was)
            self._announce()
        self.refresh_from_db()
        return changed

    def cancel_items(self: "Batch", among: "ItemQuerySet | None" = None, by: Any = None) -> int:
        """Cancel what waits, all or those `among`; what is in flight goes on. Returns how many."""
        require(by, Right.OPERATE, "cancel items")
        with decision():
            self.refresh_from_db()
            if self.state not in UNFINISHED_BATCH:
                raise MoveRefused(
                    f"{self.name} is {standing(self.state)}: items are cancelled while a batch is"
                    " under way."
                )
            chosen = self.items.all() if among is None else among.filter(batch=self)
            count = chosen.waiting().move("cancel", due_at=None)
            if not count:
                raise MoveRefused(f"{self.name} has no such item that waits: nothing to cancel.")
            type(self).objects.filter(pk=self.pk).update(cancelled=F("cancelled") + count)
            Event.objects.record("items.cancelled", by=by, batch=self, count=count)
            self._announce()
        self.refresh_from_db()
        if self.ended == self.total:
            self.finish()
        return count

    def record_export(self: "Batch", format_: str, count: int, by: Any = None) -> None:
        """Note that so many results were delivered, to whom and how."""
        public_id = self.public_id
        with transaction.atomic():
            type(self).objects.filter(pk=self.pk).update(exported_at=timezone.now())
            Event.objects.record("results.exported", by=by, batch=self, format=format_, count=count)
            transaction.on_commit(lambda: signals.announce_batch(public_id))
        self.refresh_from_db(fields=["exported_at"])

    def _consequences(
        self: "Batch", changed: list[str], values: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Columns that follow from a change: the moment of the deadline, and a block that is
        lifted because its cause is."""
        columns: dict[str, Any] = {}
        free = {"blocked": "", "blocked_detail": "", "waits_for": ""}
        if "deadline" in changed:
            ends = _ends(self.started_at, values["deadline"])
            if ends is not None and ends <= timezone.now():
                raise NotPossible("deadline", "That time is over already: give it more.")
            columns["deadline_at"] = ends
            if self.blocked == Block.DEADLINE:
                columns |= free
        if "budget" in changed and self.blocked == Block.BUDGET:
            budget = values["budget"]
            if budget is None or (self.budget is not None and budget > self.budget):
                columns |= free
        return columns


def _ends(started_at: datetime | None, seconds: int | None) -> datetime | None:
    return (
        None if started_at is None or seconds is None else started_at + timedelta(seconds=seconds)
    )


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value
