"""The ledger: what attempts used and cost, in sums by day, task type, model, mode or owner, and one
by one."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from django.db.models import Q, QuerySet, Sum

from batchboard.models import Attempt, LedgerDay, Price, TaskType, User
from batchboard.models.attempt import TOKENS
from batchboard.models.ledger_day import SUMS
from batchboard.money import ZERO, units
from batchboard.pricing import Rates, Usage

NOBODY, NOBODY_NAME = 0, "Command line"
"""Stands for the owner of batches that were started at the command line."""

ROWS_AT_ONCE = 2_000
COLUMNS = (
    "pk", "ended_at", "batch_id", "item__key", "model", "mode", "outcome", *TOKENS, "price_id",
    "cost", "reserved", "request_id",
)  # fmt: skip


class By(StrEnum):
    DAY = "day"
    TYPE = "type"
    MODEL = "model"
    MODE = "mode"
    OWNER = "owner"

    @property
    def column(self) -> str:
        return "task_type" if self is By.TYPE else str(self)


@dataclass(frozen=True)
class Chosen:
    """Which attempts: ended from a day to a day (UTC, both included), and narrowed by task type,
    model, mode or owner where given."""

    since: date | None = None
    until: date | None = None
    type: int | None = None
    model: str = ""
    mode: str = ""
    owner: int | None = None

    def days(self) -> QuerySet[LedgerDay]:
        """The rolled-up rows."""
        asked = Q()
        if self.since:
            asked &= Q(day__gte=self.since)
        if self.until:
            asked &= Q(day__lte=self.until)
        if self.type is not None:
            asked &= Q(task_type=self.type)
        if self.owner is not None:
            asked &= Q(owner=None if self.owner == NOBODY else self.owner)
        return LedgerDay.objects.filter(asked, **self._kind())

    def of(self, batch: int, day: date) -> QuerySet[Attempt]:
        """The attempts of one batch that ended on one day, newest first, by the index of those."""
        begin = datetime.combine(day, time(), UTC)
        ended = Q(ended_at__gte=begin, ended_at__lt=begin + timedelta(days=1))
        found = Attempt.objects.filter(ended, batch=batch, **self._kind())
        return found.order_by("-ended_at", "-id")

    def _kind(self) -> dict[str, str]:
        given = {"model": self.model, "mode": self.mode}
        return {name: value for name, value in given.items() if value}


@dataclass
class Total:
    """Sums over attempts: `cost` is what is known, `unknown_cost` the bound of what is not."""

    attempts: int = 0
    unknown_attempts: int = 0
    unpriced_attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    cache_read_tokens: int = 0
    cost: Decimal = ZERO
    unknown_cost: Decimal = ZERO

    @property
    def known_cost(self) -> Decimal | None:
        """None where nothing is known but that there is more: that is not 0."""
        return (
            self.cost
            if self.cost or not (self.unknown_attempts or self.unpriced_attempts)
            else None
        )

    @classmethod
    def of(cls, sums: Sequence[Any]) -> "Total":
        """From sums in the order of `SUMS`. PostgreSQL sums whole numbers as decimals; money is in
        dollars already."""
        numbers: list[Any] = [*map(int, sums[:-2]), *sums[-2:]]
        return cls(*numbers)

    @property
    def cache_write_tokens(self) -> int:
        return self.cache_write_5m_tokens + self.cache_write_1h_tokens

    def add(self, other: "Total") -> None:
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


@dataclass(frozen=True)
class Group:
    """What one day, task type, model, mode or owner used; `key` is as an address names it."""

    key: str
    label: str
    total: Total


@dataclass(frozen=True)
class Sums:
    """Everything chosen, grouped: `groups` with the newest day, or the dearest, first; `by_day`
    holds what each group cost on each day."""

    total: Total
    groups: list[Group]
    by_day: dict[tuple[date, str], Total]

    def share(self, group: Group) -> float | None:
        """A group's part of the known cost; None where nothing of its own is known."""
        cost = group.total.known_cost
        return float(cost / self.total.cost) if cost is not None and self.total.cost else None


def sums(chosen: Chosen, by: By) -> Sums:
    """One query over the rolled-up rows, and one for names."""
    columns = ["day"] if by is By.DAY else ["day", by.column]
    found = chosen.days().order_by().values_list(*columns).annotate(*(Sum(name) for name in SUMS))
    whole, by_key, by_day = Total(), defaultdict[str, Total](Total), {}
    for row in found:
        day, value, numbers = row[0], row[len(columns) - 1], row[len(columns) :]
        part = Total.of(numbers)
        key = _key(value)
        by_day[day, key] = part
        by_key[key].add(part)
        whole.add(part)
    labels = _labels(by, list(by_key))
    groups = [Group(key, labels.get(key, key), total) for key, total in by_key.items()]
    if by is By.DAY:
        groups.sort(key=lambda group: group.key, reverse=True)
    else:
        groups.sort(key=lambda group: (-group.total.cost, -group.total.attempts, group.label))
    return Sums(whole, groups, by_day)


def newest(chosen: Chosen, count: int, after: int | None = None) -> list[Attempt]:
    """The newest `count` attempts by day, batch and time, from the one with the id `after` on.

    The rolled-up rows say which batches have any on which day, so that no more is read than is
    shown, however few of however many match.
    """
    found: list[int] = []
    last = Attempt.objects.ended().filter(pk=after).first() if after else None
    for here in _places(chosen, last):
        found += here.values_list("pk", flat=True)[: count - len(found)]
        if len(found) == count:
            break
    by_id = Attempt.objects.select_related("item", "batch__version__task_type", "price").in_bulk(
        found
    )
    return [by_id[pk] for pk in found]


def every(chosen: Chosen) -> Iterator[Any]:
    """All of them in the same order, as rows of `COLUMNS` by name. They are read in pieces: memory
    stays flat, and nothing is locked."""
    for here in _places(chosen, None):
        rows = here.values_list(*COLUMNS, named=True)
        edge: Any = None
        while True:
            piece = list((rows if edge is None else rows.filter(_beyond(edge)))[:ROWS_AT_ONCE])
            yield from piece
            if len(piece) < ROWS_AT_ONCE:
                break
            edge = piece[-1]


def rates_of(price: Price | None, attempt: Any) -> Rates | None:
    """The rates of the price that was applied: those for long prompts where they were. Items that
    share a call share its rates, so the cost says which, and not the item's own prompt."""
    if price is None or not price.rates:
        return None
    rates = Rates.of_json(price.rates)
    used = Usage(*(getattr(attempt, name) or 0 for name in TOKENS))
    plain = rates.applied(Usage())
    if rates.then is None or attempt.cost is None:
        return rates.applied(used)
    return plain if plain.cost(used) == units(attempt.cost) else rates.then


def _places(chosen: Chosen, last: Attempt | None) -> Iterator[QuerySet[Attempt]]:
    """The attempts of each day and batch that has any, newest first, from `last` on."""
    days = chosen.days().order_by("-day", "-batch_id")
    edge: tuple[date, int] | None = None
    if last is not None and last.ended_at is not None:
        edge = last.ended_at.astimezone(UTC).date(), last.batch_id
        days = days.filter(Q(day__lt=edge[0]) | Q(day=edge[0], batch_id__lte=edge[1]))
    for place in days.values_list("day", "batch_id").distinct().iterator(chunk_size=ROWS_AT_ONCE):
        here = chosen.of(place[1], place[0])
        yield here.filter(_beyond(last)) if last and place == edge else here


def _beyond(edge: Any) -> Q:
    return Q(ended_at__lte=edge.ended_at) & (Q(ended_at__lt=edge.ended_at) | Q(pk__lt=edge.pk))


def _key(value: Any) -> str:
    return str(NOBODY) if value is None else str(value)


def _labels(by: By, keys: list[str]) -> dict[str, str]:
    if by is By.TYPE:
        found = TaskType.objects.filter(pk__in=keys).values_list("pk", "name")
        return {str(pk): name for pk, name in found}
    if by is By.OWNER:
        people = {str(user.pk): str(user) for user in User.objects.filter(pk__in=keys)}
        return {str(NOBODY): NOBODY_NAME} | people
    return {}
