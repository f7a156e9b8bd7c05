"""Experiments: the same items run in two ways or more, to see what each costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from batchboard.drawing import budget_shares, shuffled
from batchboard.models.arriving import NewItem
from batchboard.models.batch import Batch, new_seed
from batchboard.models.decision import decision
from batchboard.models.event import Event
from batchboard.models.fields import UsdField
from batchboard.models.opaque_id import opaque_id
from batchboard.models.run_options import RunOptions
from batchboard.models.task_type import TaskVersion
from batchboard.money import dollars, units
from batchboard.roles import Right, require
from batchboard.states import UNFINISHED_BATCH, BatchState, MoveRefused

NOT_ENDED = UNFINISHED_BATCH | {BatchState.INGESTING, BatchState.DRAFT}


class ExperimentState(StrEnum):
    """Where an experiment stands, which follows from where its arms stand."""

    DRAFT = "draft"  # nothing was started
    RUNNING = "running"  # an arm has items left to do
    BLOCKED = "blocked"  # what is left of it waits for a person
    ENDED = "ended"  # every item of every arm ended
    CANCELLED = "cancelled"  # a person ended it


@dataclass(frozen=True)
class NewArm:
    """An arm as it comes in: how it is called, how it runs, and what it will cost and take."""

    label: str
    options: RunOptions
    expected: Decimal
    worst: Decimal
    seconds: float


def new_experiment_id() -> str:
    return opaque_id("e")


class ExperimentQuerySet(models.QuerySet["Experiment"]):
    def with_arms(self) -> "ExperimentQuerySet":
        """With all that their state follows from, in a fixed number of queries."""
        arms = ExperimentArm.objects.select_related("batch__version__task_type")
        return self.select_related("version__task_type", "owner").prefetch_related(
            models.Prefetch("arms", arms)
        )

    def create_with_arms(
        self,
        *,
        name: str,
        version: TaskVersion,
        items: Sequence[NewItem],
        arms: Sequence[NewArm],
        seed: str,
        budget: Decimal | None,
        source: str,
        by: Any = None,
        progress: Callable[[int], None] | None = None,
        with_it: Callable[["Experiment"], None] | None = None,
    ) -> "Experiment":
        """A draft: a batch of the same items for every arm, or nothing at all. `progress` is told
        how many items of all arms are stored; `with_it` is called in the transaction in which the
        experiment appears.

        Nothing may favour an arm. All of them run at the same time, dealt slots fairly by the
        governor, so that a slow hour of the provider or a limit that binds meets all alike. Where
        the governor has a tie it serves the batch that was made first, so the arms are made, and
        later started, in an order that the seed decides. Each arm does the items in an order of
        its own: where the first items of a file are the short ones, no arm has them all while the
        cache is cold. And each has a salt of its own, of the same length, that is sent first, so
        that none reads from the cache what another one wrote and paid for. Review draws the same
        items in every arm, as far as they have a result.
        """
        require(by, Right.OPERATE, "create an experiment")
        public_id = new_experiment_id()
        made: dict[int, Batch] = {}
        given = _with_budgets(arms, budget)
        try:
            for place in _order(seed, len(given)):
                made[place] = _arm_batch(public_id, name, version, items, given, place, seed, by)
                if progress:
                    progress(len(made) * len(items))
            with decision():
                experiment = self.create(
                    public_id=public_id,
                    name=name,
                    version=version,
                    owner=by,
                    n=len(items),
                    seed=seed,
                    budget=budget,  # type: ignore[misc]
                    source=source[:300],
                )
                for place, batch in sorted(made.items()):
                    experiment.arms.create(position=place, label=given[place].label, batch=batch)
                for batch in made.values():
                    batch.arrive(by)
                _record("experiment.create", experiment, by)
                if with_it:
                    with_it(experiment)
        except BaseException:
            for batch in made.values():
                batch.discard()
            raise
        return experiment


class Experiment(models.Model):
    """The same random sample of items under several arms; the first arm is the measure.

    `source` says where the items came from. When it ended is not stored: it follows from its
    arms, of which one may be sent back to work (dead items tried again).
    """

    public_id = models.CharField(
        max_length=20, unique=True, default=new_experiment_id, editable=False
    )
    name = models.CharField(max_length=200)
    version = models.ForeignKey(TaskVersion, models.PROTECT, related_name="experiments")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    n = models.PositiveIntegerField(help_text="Items of each arm.")
    seed = models.CharField(max_length=64, default=new_seed)
    budget = UsdField(null=True, help_text="For all arms together; empty: none, by choice.")
    source = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    cancelled_at = models.DateTimeField(null=True)

    objects = ExperimentQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name

    @property
    def batches(self) -> list[Batch]:
        """Those of its arms, the measure first."""
        return [arm.batch for arm in self.arms.all()]

    @property
    def ended_at(self) -> datetime | None:
        """When the last item of its last arm ended; None while one has items left to do. Waiting
        for review counts as ended."""
        batches = self.batches
        if any(batch.state in NOT_ENDED for batch in batches):
            return None
        return max((one.finished_at for one in batches if one.finished_at), default=None)

    @property
    def state(self) -> ExperimentState:
        left = [batch for batch in self.batches if batch.state in NOT_ENDED]
        if not left:
            return ExperimentState.CANCELLED if self.cancelled_at else ExperimentState.ENDED
        if self.started_at is None:
            return ExperimentState.DRAFT
        stuck = all(batch.blocked or batch.state == BatchState.PAUSED for batch in left)
        return ExperimentState.BLOCKED if stuck else ExperimentState.RUNNING

    def start(self, by: Any = None) -> None:
        """Queue all arms at once."""
        require(by, Right.OPERATE, f"start {self.name}")
        with decision():
            fresh = Experiment.objects.filter(pk=self.pk, started_at=None, cancelled_at=None)
            if not fresh.update(started_at=timezone.now()):
                raise MoveRefused(f"{self.name} was started, or cancelled, before.")
            batches = self.batches
            for place in _order(self.seed, len(batches)):
                batches[place]._start(by)
            _record("experiment.start", self, by)
        self._look_again()

    def cancel(self, by: Any = None) -> None:
        """End every arm that has items left to do; an arm that has done all keeps its results."""
        require(by, Right.OPERATE, f"cancel {self.name}")
        with decision():
            self._look_again()
            left = [batch for batch in self.batches if batch.state in NOT_ENDED]
            if not left:
                raise MoveRefused(f"{self.name} has ended: nothing is left to cancel.")
            Experiment.objects.filter(pk=self.pk).update(cancelled_at=timezone.now())
            for batch in left:
                batch.cancel(by)
            _record("experiment.cancel", self, by)
        self._look_again()

    def _look_again(self) -> None:
        self.refresh_from_db()
        self.__dict__.pop("_prefetched_objects_cache", None)


class ExperimentArm(models.Model):
    """One way of working; its batch holds how it runs, and what came of it."""

    experiment = models.ForeignKey(Experiment, models.CASCADE, related_name="arms", db_index=False)
    position = models.PositiveSmallIntegerField()
    label = models.CharField(max_length=60)
    batch = models.OneToOneField(Batch, models.PROTECT, related_name="arm")

    class Meta:
        ordering = ["experiment_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["experiment", "position"], name="one_arm_per_position")
        ]

    def __str__(self) -> str:
        return self.label


def _with_budgets(arms: Sequence[NewArm], budget: Decimal | None) -> list[NewArm]:
    if budget is None:
        return list(arms)
    shares = budget_shares(units(budget), [(units(a.expected), units(a.worst)) for a in arms])
    return [
        replace(arm, options=replace(arm.options, budget=dollars(share)))
        for arm, share in zip(arms, shares, strict=True)
    ]


def _order(seed: str, arms: int) -> list[int]:
    return shuffled(f"{seed} arms", range(arms))


def _arm_batch(
    public_id: str,
    name: str,
    version: TaskVersion,
    items: Sequence[NewItem],
    arms: Sequence[NewArm],
    place: int,
    seed: str,
    by: Any,
) -> Batch:
    """The batch of one arm, not yet arrived."""
    arm = arms[place]
    return Batch.objects.create_with_items(
        name=f"{name[: 190 - len(arm.label)]}: {arm.label}",
        version=version,
        items=shuffled(f"{seed} items {place}", items),
        options=arm.options,
        by=by,
        arrives=False,
        experimental=True,
        cache_salt=f"{public_id}-{place}",
        seed=sha256(f"{seed} review".encode()).hexdigest()[:16],
        estimate_expected=arm.expected,
        estimate_worst=arm.worst,
        estimate_seconds=arm.seconds,
    )


def _record(verb: str, experiment: Experiment, by: Any) -> None:
    Event.objects.record(verb, by=by, experiment=experiment.public_id, name=experiment.name)
