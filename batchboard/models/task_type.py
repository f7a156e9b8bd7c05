"""Task types: one kind of work, in versions that never change once made."""

import json
from hashlib import sha256
from typing import Any, Self

from django.conf import settings
from django.db import models, transaction

from batchboard.task_definition import TaskDefinition, shared_bytes


class VersionConflict(Exception):
    """Somebody made a newer version while this one was being edited; `newest` is theirs."""

    def __init__(self, newest: "TaskVersion") -> None:
        super().__init__(f"{newest} was made in the meantime.")
        self.newest = newest


class TaskType(models.Model):
    """The name that versions of one kind of work share."""

    name = models.CharField(max_length=120, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class TaskVersionManager(models.Manager["TaskVersion"]):
    def for_definition(
        self, definition: TaskDefinition, by: Any = None, base: int | None = None
    ) -> "TaskVersion":
        """The version that says what `definition` says: the newest if it does, else a new one.

        `base` is the number of the version that was edited, 0 for a new task type. Raises
        VersionConflict where it is no longer the newest.
        """
        digest = definition_digest(definition)
        with transaction.atomic():
            task_type, _ = TaskType.objects.get_or_create(name=definition.name)
            task_type = TaskType.objects.select_for_update().get(pk=task_type.pk)
            newest = self.filter(task_type=task_type).order_by("-number").first()
            if newest and newest.digest == digest:
                return newest
            if base is not None and newest and newest.number != base:
                raise VersionConflict(newest)
            return self.create(
                task_type=task_type,
                number=newest.number + 1 if newest else 1,
                digest=digest,
                model=definition.model,
                system=definition.system,
                prompt=definition.prompt,
                max_tokens=definition.max_tokens,
                key=definition.key or "",
                check_list=list(definition.check),
                contract=definition.contract,
                created_by=by,
            )


class TaskVersion(models.Model):
    """What a batch runs: model, shared context, prompt, contract; fixed once it exists."""

    task_type = models.ForeignKey(TaskType, models.PROTECT, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    model = models.CharField(max_length=100)
    system = models.TextField(blank=True)
    prompt = models.TextField()
    max_tokens = models.PositiveIntegerField()
    key = models.CharField(max_length=200, blank=True)
    check_list = models.JSONField(default=list)
    contract = models.JSONField(null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    shared_tokens = models.PositiveIntegerField(
        null=True, help_text="What the provider counts for the shared context."
    )
    counted_bytes = models.PositiveBigIntegerField(default=0)
    counted_tokens = models.PositiveBigIntegerField(default=0)

    objects = TaskVersionManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task_type", "number"], name="one_version_per_number")
        ]

    def __str__(self) -> str:
        return f"{self.task_type.name} v{self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise TypeError("A task version never changes; make a new one.")
        super().save(*args, **kwargs)

    @property
    def definition(self) -> TaskDefinition:
        """What this version says, apart from the record that it is."""
        return TaskDefinition(
            name=self.task_type.name,
            model=self.model,
            system=self.system,
            prompt=self.prompt,
            max_tokens=self.max_tokens,
            key=self.key or None,
            check=tuple(self.check_list),
            contract=self.contract,
        )

    @property
    def shared_bytes(self) -> int:
        """UTF-8 bytes that every call of this version sends beside its item's prompt."""
        return shared_bytes(self.system, self.contract)

    def newest(self) -> Self:
        """The newest version of the same task type."""
        return type(self).objects.filter(task_type=self.task_type_id).latest("number")  # type: ignore[return-value]


def definition_digest(definition: TaskDefinition) -> str:
    """A digest over everything that changes what is sent, checked or looked for."""
    content = [
        definition.model,
        definition.system,
        definition.prompt,
        definition.max_tokens,
        definition.key,
        list(definition.check),
        definition.contract,
    ]
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
