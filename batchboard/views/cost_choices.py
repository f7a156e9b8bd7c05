"""What the costs page can compare: task types that did something, and for each of them pairs of
past sets of batches that have data. What was chosen stands in the address."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise
from typing import TypeVar

from django.db.models import F, Max, Min, Sum

from batchboard.arms import Past
from batchboard.models import Batch, Experiment
from batchboard.models.experiment import NOT_ENDED
from batchboard.states import UNFINISHED_BATCH
from batchboard.templatetags.untrusted import visible

Key = TypeVar("Key", int, str)
MOST_EXPERIMENTS = 200
MOST_VERSIONS = 5
"""Of the versions that ran, so many of the latest are offered."""


@dataclass(frozen=True)
class Ran:
    """Batches of one task type, version and mode: when the first and the last of them began, and
    how many items ended."""

    version: int
    mode: str
    first: datetime
    last: datetime
    items: int


@dataclass(frozen=True)
class Choice:
    """Two sets to compare: `value` stands in the address, `label` in the list. `changed_at` is the
    moment from which the second set was the way of working; `change` says which change that was.
    """

    value: str
    group: str
    label: str
    before: Past
    after: Past
    before_label: str
    after_label: str
    changed_at: datetime
    change: str
    experiment: str = ""
    """The public id of the experiment whose arms are compared, instead of two past sets."""


@dataclass(frozen=True)
class Tried:
    """An experiment of one task type in whose arms all items ended, some of each in another way
    than by being cancelled."""

    public_id: str
    name: str
    version: int
    started_at: datetime


@dataclass(frozen=True)
class TypeThatRan:
    """A task type with batches, or experiments, that ended with items done."""

    pk: int
    name: str
    ran: Sequence[Ran]
    tried: Sequence[Tried] = ()

    @property
    def last(self) -> datetime:
        return max([*(one.last for one in self.ran), *(one.started_at for one in self.tried)])

    def has_tried(self, experiment: str) -> bool:
        """Whether the experiment with this public id is of this task type."""
        return any(one.public_id == experiment for one in self.tried)

    @property
    def newest_version(self) -> int:
        return max([*(one.version for one in self.ran), *(one.version for one in self.tried)])

    @property
    def choices(self) -> list[Choice]:
        """The most telling first: by mode, by the day on which the mode changed, by version; and
        the experiments, the latest first."""
        past = [*_by_mode(self.ran), *_by_date(self.ran), *_by_version(self.ran)]
        return [*past, *_by_experiment(self.tried)]


@dataclass(frozen=True)
class Chosen:
    """The task type and the comparison that the address asks for, or else the best there is."""

    types: Sequence[TypeThatRan]
    task_type: TypeThatRan | None
    choices: Sequence[Choice] = field(default_factory=list)
    choice: Choice | None = None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Chosen":
        types = types_that_ran()
        if not types:
            return cls(types, None)
        asked, wanted = query.get("type", ""), query.get("compare", "")
        if experiment := query.get("experiment", ""):
            wanted = f"experiment:{experiment}"
            asked = next((str(one.pk) for one in types if one.has_tried(experiment)), asked)
        task_type = next((one for one in types if str(one.pk) == asked), None) or _telling(types)
        choices = task_type.choices
        choice = next((one for one in choices if one.value == wanted), None)
        return cls(types, task_type, choices, choice or next(iter(choices), None))

    @property
    def groups(self) -> list[tuple[str, list[Choice]]]:
        """The choices under the heading of their kind."""
        grouped: dict[str, list[Choice]] = defaultdict(list)
        for one in self.choices:
            grouped[one.group].append(one)
        return list(grouped.items())


def types_that_ran() -> list[TypeThatRan]:
    """All of them by name, in two queries."""
    found = (
        Batch.objects.on_board()
        .filter(started_at__isnull=False)
        .exclude(state__in=UNFINISHED_BATCH)
        .order_by()
        .values("version__task_type", "version__task_type__name", "version__number", "mode")
        .annotate(first=Min("started_at"), last=Max("started_at"),
                  done=Sum("succeeded") + Sum("dead"))
        .filter(done__gt=0)
    )  # fmt: skip
    ran: dict[tuple[int, str], list[Ran]] = defaultdict(list)
    for row in found:
        ran[row["version__task_type"], row["version__task_type__name"]].append(
            Ran(row["version__number"], row["mode"], row["first"], row["last"], row["done"])
        )
    tried = _tried()
    types = [
        TypeThatRan(pk, name, ran.get((pk, name), []), tried.get((pk, name), []))
        for pk, name in {**ran, **tried}
    ]
    return sorted(types, key=lambda one: (one.name.casefold(), one.pk))


def _tried() -> dict[tuple[int, str], list[Tried]]:
    """Experiments by task type, the latest first."""
    version = "version__task_type", "version__task_type__name", "version__number"
    found = (
        Experiment.objects.order_by("-started_at")
        .filter(started_at__isnull=False)
        .annotate(least=Min(F("arms__batch__succeeded") + F("arms__batch__dead")))
        .filter(least__gt=0)
        .exclude(arms__batch__state__in=NOT_ENDED)
        .values_list(*version, "public_id", "name", "started_at")[:MOST_EXPERIMENTS]
    )
    tried: dict[tuple[int, str], list[Tried]] = defaultdict(list)
    for pk, type_name, number, public_id, name, started_at in found:
        tried[pk, type_name].append(Tried(public_id, name, number, started_at))
    return tried


def _telling(types: Sequence[TypeThatRan]) -> TypeThatRan:
    """Of those that have something to compare, the one that ran last."""
    return max(types, key=lambda one: (bool(one.choices), one.last))


def _by_mode(ran: Sequence[Ran]) -> list[Choice]:
    """Each mode against each that ran before it; the latest change first."""
    first = _first_by(ran, lambda one: one.mode)
    pairs = sorted(
        combinations(first, 2), key=lambda pair: (first[pair[1]], first[pair[0]]), reverse=True
    )
    return [
        _change("mode", (before, after), (Past(mode=before), Past(mode=after)), first[after])
        for before, after in pairs
    ]


def _by_date(ran: Sequence[Ran]) -> list[Choice]:
    """Before and after each day (UTC) on which a mode ran for the first time."""
    first = _first_by(ran, lambda one: one.mode)
    choices = {}
    for before, after in pairwise(first):
        day = first[after].astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        if min(first.values()) >= day:
            continue  # nothing ran before that day
        words = f"{day:%b} {day.day}"
        choices[day] = Choice(
            f"date:{day:%Y-%m-%d}",
            "By date",
            f"Before and from {words}",
            Past(until=day),
            Past(since=day),
            f"all until {_day_before(day)}",
            f"all from {words}",
            day,
            f"{before} → {after}",
        )
    return list(choices.values())[::-1]


def _by_version(ran: Sequence[Ran]) -> list[Choice]:
    """Each of the latest versions that ran against the one before it."""
    first = _first_by(ran, lambda one: one.version)
    latest = sorted(first)[-MOST_VERSIONS:]
    return [
        _change(
            "version",
            (f"v{before}", f"v{after}"),
            (Past(version=before), Past(version=after)),
            first[after],
        )
        for before, after in list(pairwise(latest))[::-1]
    ]


def _change(kind: str, labels: tuple[str, str], sets: tuple[Past, Past], at: datetime) -> Choice:
    """Of one mode, or version, to another."""
    words = " → ".join(labels)
    names = ":".join(str(getattr(past, kind)) for past in sets)
    return Choice(f"{kind}:{names}", f"By {kind}", words, *sets, *labels, at, words)


def _by_experiment(tried: Sequence[Tried]) -> list[Choice]:
    """The arms of each, over the same items."""
    return [
        Choice(
            f"experiment:{one.public_id}",
            "Experiments",
            f"{visible(one.name)}, {one.started_at.astimezone(UTC):%H:%M} UTC",
            Past(),
            Past(),
            "",
            "",
            one.started_at,
            "",
            one.public_id,
        )
        for one in tried
    ]


def _first_by(ran: Iterable[Ran], key: Callable[[Ran], Key]) -> dict[Key, datetime]:
    """When batches of each mode, or of each version, began for the first time, in that order."""
    first: dict[Key, datetime] = {}
    for one in sorted(ran, key=lambda one: one.first):
        first.setdefault(key(one), one.first)
    return first


def _day_before(day: datetime) -> str:
    before = day - timedelta(days=1)
    return f"{before:%b} {before.day}"
