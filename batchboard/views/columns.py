"""The columns of the board: which batches stand where."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Prefetch, Q, QuerySet, prefetch_related_objects

from batchboard.models import Batch, TaskVersion, User
from batchboard.models.batch import BatchQuerySet
from batchboard.states import BatchState

CARDS_SHOWN = 50

UNSHOWN_OF_VERSIONS = ("system", "prompt", "contract", "check_list")
UNSHOWN_OF_PEOPLE = ("password", "last_login", "email", "is_staff", "is_active", "date_joined")

_STARTED = Q(started_at__isnull=False)


@dataclass(frozen=True)
class Column:
    """One column: its batches as a condition, in an order that does not move under the pointer.
    `teaches` is what it says while it is empty."""

    name: str
    title: str
    holds: Q
    order: tuple[str, ...]
    teaches: str
    rest: str = "older"
    short: str = ""

    @property
    def brief(self) -> str:
        """Its title where there is little room."""
        return self.short or self.title

    def batches(self, among: BatchQuerySet, most: int = CARDS_SHOWN) -> list[Batch]:
        return list(among.filter(self.holds).order_by(*self.order)[:most])


COLUMNS = (
    Column(
        "draft", "Draft", Q(state=BatchState.DRAFT), ("-id",),
        "A new batch waits here, with its estimate, until somebody starts it.",
    ),
    Column(
        "queued", "Queued",
        Q(state=BatchState.QUEUED) | Q(state=BatchState.PAUSED) & ~_STARTED,
        ("-priority", "id"), "A started batch waits here for its first call.", rest="more",
    ),
    Column(
        "running", "Running",
        Q(state=BatchState.RUNNING) | Q(state=BatchState.PAUSED) & _STARTED,
        ("-id",), "Batches whose items are being sent stand here, with what holds them up.",
    ),
    Column(
        "review", "Review", Q(state=BatchState.REVIEW), ("finished_at", "id"),
        "When its last item has ended, a batch waits here for a person to judge a sample.",
        rest="more",
    ),
    Column(
        "released", "Released",
        Q(state__in=[BatchState.APPROVED, BatchState.RELEASED]), ("-decided_at", "-id"),
        "Approved batches stand here: their results can be exported.",
    ),
)  # fmt: skip

ENDED = Column(
    "ended", "Rejected and cancelled",
    Q(state__in=[BatchState.REJECTED, BatchState.CANCELLED]), ("-id",),
    "Nothing was rejected or cancelled.", short="Ended",
)  # fmt: skip

BY_NAME = {column.name: column for column in (*COLUMNS, ENDED)}
"""Those of the board, and the one that is shown when somebody asks for it, last."""


def column_of(state: str, started_at: datetime | None) -> str:
    """The name of the column that a batch stands in."""
    if state == BatchState.PAUSED:
        return "running" if started_at else "queued"
    if state == BatchState.INGESTING:
        return "draft"
    if state == BatchState.APPROVED:
        return "released"
    if state in {BatchState.REJECTED, BatchState.CANCELLED}:
        return "ended"
    return state


def with_relations(batches: QuerySet[Batch]) -> QuerySet[Batch]:
    """One batch with all that its card names, and without what it does not: the long texts of the
    task type, and of people all but their names."""
    people = ("owner", "paused_by")
    return batches.select_related("version__task_type", *people).defer(
        *(f"version__{name}" for name in UNSHOWN_OF_VERSIONS),
        *(f"{one}__{name}" for one in people for name in UNSHOWN_OF_PEOPLE),
    )


def fetch_relations(batches: Sequence[Batch]) -> None:
    """The same for many, which share task types and people: each of these is read once, where
    joined to every batch they would be most of what is read."""
    versions = TaskVersion.objects.select_related("task_type").defer(*UNSHOWN_OF_VERSIONS)
    people = User.objects.defer(*UNSHOWN_OF_PEOPLE)
    prefetch_related_objects(
        batches,
        Prefetch("version", versions),
        Prefetch("owner", people),
        Prefetch("paused_by", people),
    )


def counts(among: BatchQuerySet) -> dict[str, int]:
    """How many batches stand in each column, and how many of those that ended were rejected."""
    found = dict.fromkeys((*BY_NAME, "rejected"), 0)
    rows = (
        among.order_by()
        .values_list("state")
        .annotate(all=Count("id"), started=Count("id", filter=_STARTED))
    )
    for state, number, started in rows:
        if state == BatchState.PAUSED:
            found["running"] += started
            found["queued"] += number - started
        else:
            found[column_of(state, None)] += number
        if state == BatchState.REJECTED:
            found["rejected"] += number
    return found
