"""Recurring batches: what is made again and again, and when.

A time that came is a row of its own from the moment that it is taken, and that moment is one
conditional UPDATE: two beats, or one that was restarted, take it once. The batch is made of it in
the background.
"""

from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from batchboard import item_commands, signals
from batchboard.cron import CronError, Times
from batchboard.models.batch import Batch
from batchboard.models.changing import SETTINGS, NotPossible
from batchboard.models.event import Event
from batchboard.models.opaque_id import opaque_id
from batchboard.models.run_options import RunColumns, RunOptions
from batchboard.models.task_type import TaskType, TaskVersion
from batchboard.models.upload import Upload
from batchboard.roles import Right, may, require
from batchboard.states import UNFINISHED_BATCH, BatchState, MoveRefused

if TYPE_CHECKING:
    from batchboard.models.recurring_run import RecurringRun

AT_ONCE = 100
SOURCES = ("upload", "source_batch", "command")


def new_recurring_id() -> str:
    return opaque_id("r")


class RecurringQuerySet(models.QuerySet["Recurring"]):
    def make(self, options: RunOptions, by: Any = None, **values: Any) -> "Recurring":
        """A new one, switched on. Raises NotPossible for a value that cannot be."""
        made = Recurring(owner=by, **asdict(options), **values)
        require(by, Right.OPERATE, "make batches recur")
        require(by, made.right, "have items come from a command")
        made.check_values()
        with transaction.atomic():
            made.next_at = made.times.after(timezone.now())
            made.save()
            made.record("made", by)
        return made

    def fire_due(self, now: datetime) -> int:
        """Take every time that came until `now`; returns how many."""
        due = self.filter(enabled=True, next_at__lte=now).order_by("next_at")
        return sum(recurring.fire(now) for recurring in due[:AT_ONCE])


class Recurring(RunColumns):
    """What to make a batch of, when, and how to run it.

    The items come from one of three: a stored file, the items of another batch, a command that an
    administrator named. Without a `version` each run takes the newest of its task type. `owner` is
    who saved it last, and who its batches are started by; nobody where it was the command line.
    """

    public_id = models.CharField(
        max_length=20, unique=True, default=new_recurring_id, editable=False
    )
    name = models.CharField(max_length=150)
    task_type = models.ForeignKey(TaskType, models.PROTECT, related_name="recurrings")
    version = models.ForeignKey(TaskVersion, models.PROTECT, null=True, related_name="+")
    upload = models.ForeignKey(Upload, models.PROTECT, null=True, related_name="recurrings")
    source_batch = models.ForeignKey(Batch, models.PROTECT, null=True, related_name="+")
    command = models.CharField(max_length=100, blank=True)
    key = models.CharField(max_length=200, blank=True, help_text="The column that names an item.")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    cron = models.CharField(max_length=120)
    zone = models.CharField(max_length=60, default="UTC")
    enabled = models.BooleanField(default=True)
    stopped_because = models.CharField(
        max_length=300, blank=True, help_text="Why it was paused by itself."
    )
    next_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = RecurringQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]
        indexes = [
            models.Index(fields=["next_at"], condition=models.Q(enabled=True), name="recurring_due")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def times(self) -> Times:
        """When it recurs. Raises CronError where that cannot be said any more."""
        return Times(self.cron, self.zone)

    @property
    def right(self) -> Right:
        """What whoever has it run must have the right to."""
        return Right.ADMINISTER if self.command else Right.OPERATE

    @property
    def batches(self) -> "models.QuerySet[Batch]":
        return Batch.objects.filter(recurring_run__recurring=self)

    def unfinished(self) -> Batch | None:
        """The batch of an earlier run whose items have not all ended."""
        standing = UNFINISHED_BATCH | {BatchState.INGESTING, BatchState.DRAFT}
        return self.batches.filter(state__in=standing).order_by("-id").first()

    def change(self, by: Any = None, **values: Any) -> list[str]:
        """Give it other values; who saves it answers for its runs from now on. Returns the names
        of what changed. Raises NotPossible, and NotAllowed where a command is involved."""
        require(by, self.right, f"change {self.name}")
        with transaction.atomic():
            standing = Recurring.objects.select_for_update().get(pk=self.pk)
            before = {name: getattr(standing, name) for name in values}
            changed = [name for name, value in values.items() if before[name] != value]
            for name in changed:
                setattr(standing, name, values[name])
            require(by, standing.right, "have items come from a command")
            standing.check_values()
            if not changed:
                return []
            if by is not None:
                standing.owner = by
            if {"cron", "zone"} & set(changed) and standing.enabled:
                standing.next_at = standing.times.after(timezone.now())
            standing.save()
            standing.record("changed", by, changed=changed)
        self.refresh_from_db()
        return changed

    def pause(self, by: Any = None) -> None:
        require(by, Right.OPERATE, f"pause {self.name}")
        self._switch(False, by, "paused", next_at=None)

    def resume(self, by: Any = None) -> None:
        """Go on from now; who resumes it answers for it where its owner no longer may."""
        require(by, self.right, f"resume {self.name}")
        changes: dict[str, Any] = {"next_at": self.times.after(timezone.now())}
        if by is not None and self.owner is not None and not may(self.owner, self.right):
            changes["owner"] = by
        self._switch(True, by, "resumed", stopped_because="", **changes)

    def stop(self, why: str) -> None:
        """Paused by itself, until a person looks at it."""
        with suppress(MoveRefused):
            self._switch(False, None, "stopped", next_at=None, stopped_because=why[:300])

    def run_now(self, by: Any = None) -> "RecurringRun":
        """Once more beside its times, for `by`."""
        require(by, self.right, f"run {self.name} now")
        with transaction.atomic():
            Recurring.objects.select_for_update().get(pk=self.pk)
            if self.runs.waiting().exists():
                raise MoveRefused(f"{self.name} is being run already.")
            if before := self.unfinished():
                raise MoveRefused(f"{before.name} is still {before.state}: wait until it is done.")
            run = self.runs.create(due_at=timezone.now(), asked_by=by)
            self.record("run", by)
        return run

    def remove(self, by: Any = None) -> None:
        """Forget it and its record of runs; its batches stay."""
        require(by, Right.OPERATE, f"delete {self.name}")
        with transaction.atomic():
            self.record("removed", by)
            self.delete()

    def fire(self, now: datetime) -> bool:
        """Take the time that came, and go on to the first one after `now`: however many were
        missed, it runs once. False where another was first."""
        due = self.next_at
        if due is None:
            return False
        try:
            following = self.times.after(now)
        except CronError as wrong:
            self.stop(str(wrong))
            return False
        with transaction.atomic():
            standing = Recurring.objects.filter(pk=self.pk, enabled=True, next_at=due)
            if not standing.update(next_at=following):
                return False
            self.runs.create(due_at=due)
            self._announce()
        return True

    def check_values(self) -> None:
        """Raises NotPossible for what cannot be."""
        if not self.name.strip() or len(self.name) > 150:
            raise NotPossible("name", "Give it a name of at most 150 characters.")
        try:
            _ = self.times
        except CronError as wrong:
            raise NotPossible(wrong.field, str(wrong)) from wrong
        if sum(bool(getattr(self, name)) for name in SOURCES) != 1:
            raise NotPossible("source", "Say where the items come from: one of the ways.")
        if self.command and self.command not in item_commands.names():
            raise NotPossible("source", f"No command is named “{self.command}”.")
        if self.version is not None and self.version.task_type_id != self.task_type_id:
            raise NotPossible("task", "This is a version of another task type.")
        for name, setting in SETTINGS.items():
            if not setting.allowed(getattr(self, name)):
                raise NotPossible(name, f"This must be {setting.says}.")

    def record(self, verb: str, by: Any, **detail: Any) -> None:
        told = {"recurring": self.public_id, "name": self.name} | detail
        Event.objects.record(f"recurring.{verb}", by=by, **told)
        self._announce()

    def _switch(self, enabled: bool, by: Any, verb: str, **changes: Any) -> None:
        with transaction.atomic():
            standing = Recurring.objects.filter(pk=self.pk, enabled=not enabled)
            if not standing.update(enabled=enabled, **changes):
                raise MoveRefused(f"{self.name} is {'on' if enabled else 'paused'} already.")
            self.record(verb, by)
        self.refresh_from_db()

    def _announce(self) -> None:
        public_id = self.public_id
        transaction.on_commit(lambda: signals.announce_batch(public_id))
