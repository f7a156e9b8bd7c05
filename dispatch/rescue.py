"""Rescue: what dead workers and lost messages held goes back into the line."""

from collections import Counter
from datetime import datetime
from time import monotonic

from django.db.models import Count, F, Sum, Value

from batchboard.models import Attempt, Batch, Item, LedgerDay, Limits, Spend, Worker
from batchboard.models.fields import UsdField
from batchboard.models.ledger_day import Line
from batchboard.models.limits import month_of
from batchboard.money import units
from batchboard.states import BatchState
from dispatch.lease import LEASE_SECONDS
from dispatch.outcome import Action, Outcome, decide
from dispatch.process_identity import is_alive, machine
from dispatch.recorder import chance

LEAP_SECONDS = 2.0
DIED = "Its worker died."


class Clock:
    """Notices that the clock was set forward, or that the machine slept. Leases seem to be over
    then whose holders live, and would renew them in a moment."""

    def __init__(self) -> None:
        self._seen: tuple[datetime, float] | None = None
        self._trusted_from = 0.0

    def tells_who_is_late(self, now: datetime) -> bool:
        at = monotonic()
        if self._seen is not None:
            passed = (now - self._seen[0]).total_seconds() - (at - self._seen[1])
            if passed > LEAP_SECONDS:
                self._trusted_from = at + LEASE_SECONDS
        self._seen = now, at
        return at >= self._trusted_from


clock = Clock()


def sweep(limits: Limits, now: datetime) -> int:
    """Fence workers whose lease ran out, and free what they held; returns how many attempts.

    Called inside a decision. A started attempt is lost: whether it was answered, and paid, nobody
    knows, so its reservation stays as the bound of its cost. One that was only granted never
    called, and counts for nothing.
    """
    _fence_the_dead()
    _end_cancelled()
    if clock.tells_who_is_late(now):
        Worker.objects.filter(fenced=False, lease_until__lte=now).update(fenced=True)
    live = Attempt.objects.live().filter(pk__gte=limits.oldest_live)
    unsent = live.filter(started_at=None).filter(granted_until__lte=now) | live.filter(
        started_at=None, worker__fenced=True
    )
    lost = live.filter(started_at__isnull=False, worker__fenced=True)
    # Locked, so that none of them is begun by its worker after it was counted as not begun.
    unsent = unsent.select_for_update(of=("self",))
    return _forget(list(unsent.values_list("pk", "item")), now) + _lose(list(lost), now)


def _forget(unsent: list[tuple[int, int]], now: datetime) -> int:
    if unsent:
        items = Item.objects.filter(pk__in=[item for _, item in unsent])
        items.move("return", due_at=now, tries=F("tries") - 1)
        Attempt.objects.filter(pk__in=[pk for pk, _ in unsent], started_at=None).delete()
    return len(unsent)


def _lose(lost: list[Attempt], now: datetime) -> int:
    if not lost:
        return 0
    earlier = _losses([attempt.item_id for attempt in lost])
    again: list[int] = []
    dead: list[Attempt] = []
    for attempt in lost:
        losses = {str(Outcome.LOST): earlier.get(attempt.item_id, 0)}
        if decide(Outcome.LOST, losses, chance).action is Action.BURY:
            dead.append(attempt)
        else:
            again.append(attempt.item_id)
    items = Item.objects.filter(pk__in=again)
    items.move("return", due_at=now, outcome=Outcome.LOST, problem=DIED)
    items = Item.objects.filter(pk__in=[attempt.item_id for attempt in dead])
    items.move("bury", due_at=None, outcome=Outcome.LOST, problem=DIED)
    for batch, count in Counter(attempt.batch_id for attempt in dead).items():
        Batch.objects.filter(pk=batch).update(dead=F("dead") + count)
    Attempt.objects.filter(pk__in=[attempt.pk for attempt in lost]).update(
        ended_at=now, outcome=Outcome.LOST, problem=DIED, cost=None
    )
    _hold_bounds([attempt.pk for attempt in lost], now)
    LedgerDay.objects.add([_line(attempt) for attempt in lost], now)
    return len(lost)


def _losses(items: list[int]) -> dict[int, int]:
    """How often items were lost before, since a person last sent them again."""
    before = Attempt.objects.ended().filter(
        item__in=items, pk__gt=F("item__tries_since"), outcome=Outcome.LOST
    )
    return dict(before.order_by().values_list("item").annotate(Count("id")))


def _line(attempt: Attempt) -> Line:
    bound = None if attempt.price_id is None else units(attempt.reserved)
    return Line(attempt.batch_id, attempt.model, attempt.mode, (0, 0, 0, 0, 0), None, bound)


def _hold_bounds(attempts: list[int], now: datetime) -> None:
    sums = (
        Attempt.objects.filter(pk__in=attempts).order_by().values("batch").annotate(Sum("reserved"))
    )
    for row in sums:
        bound = Value(row["reserved__sum"], output_field=UsdField())
        Batch.objects.filter(pk=row["batch"]).update(unknown_cost=F("unknown_cost") + bound)
        Spend.objects.get_or_create(pk=month_of(now))
        Spend.objects.filter(pk=month_of(now)).update(unknown=F("unknown") + bound)


def _end_cancelled() -> None:
    """End items that went back to waiting after their batch was cancelled."""
    done = F("succeeded") + F("dead") + F("cancelled")
    for batch in Batch.objects.filter(state=BatchState.CANCELLED, total__gt=done):
        left = batch.items.waiting().move("cancel")
        if left:
            Batch.objects.filter(pk=batch.pk).update(cancelled=F("cancelled") + left)


def _fence_the_dead() -> None:
    """On this machine a process that is gone needs no waiting for its lease."""
    for worker in Worker.objects.filter(fenced=False, host=machine()):
        if not is_alive(worker.pid):
            Worker.objects.filter(pk=worker.pk).update(fenced=True)
