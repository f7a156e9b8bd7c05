"""Sums up what batches did and cost, from their items and attempts."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.models import Case, Count, Q, Sum, When

from batchboard import rows
from batchboard.batch_sums import LATENCY_STEP, BatchSums, Stretch, added, merged
from batchboard.compare.data import TaskCost
from batchboard.compare.spread import Spread, Sums
from batchboard.models.attempt import Attempt, Price
from batchboard.money import ZERO, share_out, units
from batchboard.pricing import KINDS, Usage
from batchboard.states import ItemState

if TYPE_CHECKING:
    from batchboard.models.batch import Batch

PART = 2**20
"""Costs are squared in two parts of about as many digits: a million squares of a hundred dollars
each still add up exactly in 64 bits."""

ENDED = (str(ItemState.SUCCEEDED), str(ItemState.DEAD))
ITEMS = (
    f"SELECT batch_id, state, latency_ms / {LATENCY_STEP}, COUNT(*), SUM(cost),"  # noqa: S608
    f" SUM((cost / {PART}) * (cost / {PART})), SUM((cost / {PART}) * (cost %% {PART})),"
    f" SUM((cost %% {PART}) * (cost %% {PART})) FROM batchboard_item"
    " WHERE batch_id IN ({ids}) AND state IN (%s, %s) GROUP BY 1, 2, 3"
)
TASKS = (
    "SELECT batch_id, id, key, cost, state FROM batchboard_item"
    " WHERE batch_id IN ({ids}) AND state IN (%s, %s)"
)
AT_WORK = (
    "SELECT batch_id, MIN(started_at), MAX(ended_at) FROM batchboard_attempt"
    " WHERE batch_id IN ({ids}) AND ended_at IS NOT NULL AND started_at IS NOT NULL"
    " GROUP BY batch_id, {stretch}"
)
STRETCH = {
    "sqlite": "substr(started_at, 1, 18)",
    "postgresql": "floor(extract(epoch FROM started_at) / 10)",
}
"""Ten seconds, within which calls count as following each other without a gap."""


def measured(batches: Sequence["Batch"]) -> list[BatchSums]:
    """What each of the batches did and cost, in their order, from its items and attempts: slow
    where they are many. A fixed number of queries."""
    if not batches:
        return []
    items, latencies = _items(batches)
    attempts, at_work = _attempts(batches), _at_work(batches)
    return [
        BatchSums(
            spread=items[pk],
            latencies=latencies[pk],
            at_work=merged(at_work[pk]),
            **attempts[pk],
        )
        for pk in (batch.pk for batch in batches)
    ]


def tasks_of(batches: Sequence["Batch"]) -> list[TaskCost]:
    """What each item that has a result or is dead did cost, as plain rows: there may be very many.
    Keys of several batches are told apart by them."""
    if not batches:
        return []
    ids = [batch.pk for batch in batches]
    found = rows.execute(TASKS.format(ids=_places(ids)), [*ids, *ENDED])
    bounds = _bounds(batches)
    return [
        TaskCost(
            key if len(ids) == 1 else f"{batch} {key}",
            cost + bounds.get(item, 0),
            state == ItemState.SUCCEEDED,
            bounds.get(item, 0),
        )
        for batch, item, key, cost, state in found
    ]


def counted(batches: Sequence["Batch"]) -> Any:
    """Ended attempts at items that have a result or are dead."""
    attempts = Attempt.objects.ended().filter(batch__in=[batch.pk for batch in batches])
    if all(batch.succeeded + batch.dead == batch.total for batch in batches):
        return attempts.order_by()
    return attempts.filter(item__state__in=ENDED).order_by()


def _bounds(batches: Sequence["Batch"]) -> dict[int, int]:
    """Units by item: the bound of what its attempts of unknown cost did cost."""
    some = [batch for batch in batches if batch.unknown_cost]
    bounds = counted(some).filter(cost=None).values("item").annotate(bound=Sum("reserved"))
    return {row["item"]: units(row["bound"]) for row in bounds}


def _items(batches: Sequence["Batch"]) -> tuple[dict[int, Spread], dict[int, Counter[int]]]:
    """How costs are spread, and latencies of results, by batch."""
    known: dict[tuple[int, str], Sums] = defaultdict(Sums)
    latencies: dict[int, Counter[int]] = defaultdict(Counter)
    ids = [batch.pk for batch in batches]
    sql = ITEMS.format(ids=_places(ids))
    for batch, state, step, count, total, *squares in rows.execute(sql, [*ids, *ENDED]):
        high, mixed, low = map(int, squares)
        sums = Sums(count, int(total), high * PART**2 + 2 * mixed * PART + low)
        known[batch, state] += sums
        if step is not None and state == ItemState.SUCCEEDED:
            latencies[batch][step] += count
    full = known | _with_bounds(batches, known)
    ok, dead = ENDED
    return {
        pk: Spread(full.get((pk, ok), Sums()), full.get((pk, dead), Sums()),
                   known[pk, ok], known[pk, dead])
        for pk in ids
    }, latencies  # fmt: skip


def _with_bounds(
    batches: Sequence["Batch"], known: dict[tuple[int, str], Sums]
) -> dict[tuple[int, str], Sums]:
    """The sums that change when unknown costs count at their bound."""
    some = [batch for batch in batches if batch.unknown_cost]
    items = (
        counted(some)
        .filter(cost=None)
        .values("batch", "item__state", "item", "item__cost")
        .annotate(bound=Sum("reserved"))
    )
    old: dict[tuple[int, str], list[int]] = defaultdict(list)
    new: dict[tuple[int, str], list[int]] = defaultdict(list)
    for row in items:
        key, cost = (row["batch"], row["item__state"]), units(row["item__cost"])
        old[key].append(cost)
        new[key].append(cost + units(row["bound"]))
    return {key: known[key].changed(old[key], new[key]) for key in old if key in known}


def _attempts(batches: Sequence["Batch"]) -> dict[int, dict[str, Any]]:
    """Sums over attempts by batch: tokens and money by kind, and how they ended."""
    unknown = Q(cost=None)
    # What was answered and yet has no cost, or had nothing reserved for it, had no price at all.
    unpriced = unknown & (Q(input_tokens__isnull=False) | Q(reserved=0))
    groups: Any = (
        counted(batches)
        .values("batch", "price", well=Case(When(outcome="ok", then=1), default=0))
        .annotate(
            count=Count("id"),
            calls=Sum("slot"),
            lost=Count("id", filter=Q(outcome="lost")),
            spent=Sum("cost"),
            unknown=Count("id", filter=unknown),
            bound=Sum("reserved", filter=unknown),
            unpriced=Count("id", filter=unpriced),
            **{kind: Sum(f"{kind}_tokens") for kind in KINDS},
        )
    )
    by_batch: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for group in groups:
        by_batch[group["batch"]].append(group)
    used = {group["price"] for found in by_batch.values() for group in found if group["price"]}
    prices = {price.pk: price.rates for price in Price.objects.filter(pk__in=used)}
    return {batch.pk: _sums(by_batch[batch.pk], prices) for batch in batches}


def _sums(groups: list[dict[str, Any]], prices: dict[int, dict[str, int]]) -> dict[str, Any]:
    usage = money = failed_usage = failed_money = Usage()
    for group in groups:
        tokens = [group[kind] or 0 for kind in KINDS]
        spent = _by_kind(units(group["spent"] or ZERO), tokens, prices.get(group["price"], {}))
        usage, money = added([usage, Usage(*tokens)]), added([money, spent])
        if not group["well"]:
            failed_usage = added([failed_usage, Usage(*tokens)])
            failed_money = added([failed_money, spent])
    return {
        "usage": usage,
        "money": money,
        "failed_usage": failed_usage,
        "failed_money": failed_money,
        "unknown": sum(units(group["bound"] or ZERO) for group in groups),
        "unknown_attempts": sum(group["unknown"] for group in groups),
        "unpriced": sum(group["unpriced"] for group in groups),
        "calls": sum(group["calls"] for group in groups),
        "attempts": sum(group["count"] for group in groups),
        "failed_attempts": sum(group["count"] for group in groups if not group["well"]),
        "lost": sum(group["lost"] for group in groups),
    }


def _by_kind(spent: int, tokens: list[int], rates: dict[str, Any]) -> Usage:
    """What was spent, by kind of token. The rates give the proportions and the sum is kept: a long
    prompt may have been charged at other rates."""
    weights = [count * (rates.get(kind) or 0) for count, kind in zip(tokens, KINDS, strict=True)]
    if not any(weights):
        weights = tokens
    return Usage(*share_out(spent, weights)) if any(weights) else Usage(input=spent)


def _at_work(batches: Sequence["Batch"]) -> dict[int, list[Stretch]]:
    ids = [batch.pk for batch in batches]
    sql = AT_WORK.format(ids=_places(ids), stretch=STRETCH[connection.vendor])
    found: dict[int, list[Stretch]] = defaultdict(list)
    for batch, first, last in rows.execute(sql, ids):
        start, end = rows.moment(first), rows.moment(last)
        if start and end:
            found[batch].append((start, end))
    return found


def _places(values: Sequence[Any]) -> str:
    return ", ".join(["%s"] * len(values))
