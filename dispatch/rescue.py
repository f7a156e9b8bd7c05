"""Rescue: what dead workers and lost messages held goes back into the line."""

import os
import socket
from datetime import datetime

from django.db.models import F, Sum, Value

from batchboard.models import Attempt, Batch, Item, LedgerDay, Limits, Spend, Worker
from batchboard.models.fields import UsdField
from batchboard.models.ledger_day import Line
from batchboard.models.limits import month_of
from batchboard.money import units
from batchboard.states import BatchState
from dispatch.outcome import Action, Outcome, decide
from dispatch.recorder import chance


def sweep(limits: Limits, now: datetime) -> int:
    """Fence workers whose lease ran out, and free what they held; returns how many attempts.

    Called inside a decision. A started attempt is lost: whether it was answered, and paid, nobody
    knows, so its reservation stays as the bound of its cost. One that was only granted never
    called, and counts for nothing.
    """
    _end_leases_of_the_dead(now)
    _end_cancelled()
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
    for attempt in lost:
        earlier = Attempt.objects.ended().filter(
            item=attempt.item_id, pk__gt=F("item__tries_since"), outcome=Outcome.LOST
        )
        decision = decide(Outcome.LOST, {Outcome.LOST: earlier.count()}, chance)
        again = decision.action is not Action.BURY
        Item.objects.filter(pk=attempt.item_id).move(
            "return" if again else "bury",
            due_at=now if again else None,
            outcome=Outcome.LOST,
            problem="Its worker died.",
        )
        if not again:
            Batch.objects.filter(pk=attempt.batch_id).update(dead=F("dead") + 1)
    Attempt.objects.filter(pk__in=[attempt.pk for attempt in lost]).update(
        ended_at=now, outcome=Outcome.LOST, problem="Its worker died.", cost=None
    )
    _hold_bounds([attempt.pk for attempt in lost], now)
    LedgerDay.objects.add([_line(attempt) for attempt in lost], now)
    return len(lost)


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


def _end_leases_of_the_dead(now: datetime) -> None:
    """On this machine a process that is gone needs no waiting for its lease."""
    mine = Worker.objects.filter(fenced=False, host=socket.gethostname(), lease_until__gt=now)
    for worker in mine:
        if not is_alive(worker.pid):
            Worker.objects.filter(pk=worker.pk, fenced=False).update(lease_until=now)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
