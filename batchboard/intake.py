"""From a task type file and a file of items to a draft batch with its estimate: all or nothing."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from django.utils import timezone

from batchboard import template
from batchboard.estimate import Estimate
from batchboard.ingest import read_rows
from batchboard.models import Batch, Limits, NewItem, RunOptions, TaskVersion
from batchboard.models.prices import is_priced, priced_models, why_not
from batchboard.models.task_type import definition_digest
from batchboard.states import MoveRefused
from batchboard.task_file import TaskDefinition, parse_bytes
from dispatch import forecast

SPOOL_BYTES = 8_000_000
TELL_EVERY = 500


@dataclass
class Items:
    """A file of items that can be read more than once; `sizes` fills as it is read: bytes of
    rendered prompt → how many items. `key` is the column that holds the keys where that is not
    the definition's choice, `most` how many rows are taken."""

    stream: BinaryIO
    name: str
    definition: TaskDefinition
    key: str | None = None
    most: int | None = None
    sizes: Counter[int] = field(default_factory=Counter)

    def rows(self) -> Iterator[NewItem]:
        """The items in the file's order. Raises IngestError where the file cannot be used."""
        self.stream.seek(0)
        self.sizes.clear()
        needs = template.columns(self.definition.prompt)
        key = self.key or self.definition.key
        rows = read_rows(self.stream, self.name, key=key, needs=needs)
        for row in islice(rows, self.most):
            size = len(template.render(self.definition.prompt, row.data).encode())
            self.sizes[size] += 1
            yield NewItem(row.key, dict(row.data), size)

    def peek(self) -> list[dict[str, Any]]:
        """The first few rows, for counting."""
        return [item.data for item in islice(self.rows(), forecast.SAMPLE)]


@contextmanager
def open_items(source: str, definition: TaskDefinition, stdin: BinaryIO) -> Iterator[Items]:
    """The items at a path, or on standard input for "-", which is spooled so that it can be read
    again."""
    if source != "-":
        with Path(source).open("rb") as file:
            yield Items(file, source, definition)
        return
    with tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES) as spool:
        shutil.copyfileobj(stdin, spool)
        yield Items(spool, "-", definition)  # type: ignore[arg-type]


def read_task_file(content: bytes, *, unpriced: bool = False) -> TaskDefinition:
    """A task type from its TOML. Raises TaskFileError, also for a model without a known price,
    which most often is a name misspelt, unless it is to run `unpriced`."""
    known = (lambda _: True) if unpriced else is_priced
    return parse_bytes(content, known_models=known, suggest=priced_models())


def estimate(items: Items, options: RunOptions) -> Estimate:
    """What a run would cost and take; reads the whole file, and creates nothing."""
    counted = _count(items)
    _read_all(items)
    return _forecast(items, options, counted, _stored(items.definition))


def create(
    items: Items,
    options: RunOptions,
    name: str = "",
    by: Any = None,
    progress: Callable[[int], None] | None = None,
    arrives: bool = True,
) -> Batch:
    """A draft batch of all items, with its estimate; nothing at all where a row cannot be used.

    The file is read once to see that all of it can be used, and then again to store it. `progress`
    is told all the while how many items are stored so far. Without `arrives` the batch is left
    ingesting: the caller makes it arrive, or discards it. Raises IngestError, and MoveRefused where
    the model has no price and the options do not allow for that.
    """
    if refusal := refused_price(items.definition.model, options):
        raise MoveRefused(f"{refusal} Nothing was created.")
    counted = _count(items)
    _read_all(items, progress)
    version = TaskVersion.objects.for_definition(items.definition, by)
    _remember(version, counted)
    forecasted = _forecast(items, options, counted, version)
    return Batch.objects.create_with_items(
        name=name or suggested_name(items.definition),
        version=version,
        items=items.rows(),
        options=options,
        by=by,
        progress=progress,
        arrives=arrives,
        estimate_expected=forecasted.expected,
        estimate_worst=forecasted.worst,
        estimate_seconds=forecasted.seconds,
    )


def refused_price(model: str, options: RunOptions) -> str:
    """Why nothing of `model` may run with these options, as far as its price goes; or nothing."""
    return why_not(
        model,
        timezone.now(),
        unpriced_ok=options.unpriced_ok,
        budget=options.budget,
        ceiling=Limits.objects.current().configured("budget"),
    )


def suggested_name(definition: TaskDefinition) -> str:
    return f"[Batch] {definition.name}: {timezone.localdate():%b %-d}"[:200]


def _read_all(items: Items, progress: Callable[[int], None] | None = None) -> None:
    for number, _ in enumerate(items.rows()):
        if progress and number % TELL_EVERY == 0:
            progress(0)


def _count(items: Items) -> forecast.Counted:
    return forecast.count(forecast.draft_work(items.definition), items.peek())


def _stored(definition: TaskDefinition) -> TaskVersion | None:
    return TaskVersion.objects.filter(
        task_type__name=definition.name, digest=definition_digest(definition)
    ).last()


def _remember(version: TaskVersion, counted: forecast.Counted) -> None:
    same = TaskVersion.objects.filter(pk=version.pk)
    if counted.shared_tokens is not None:
        same.filter(shared_tokens=None).update(shared_tokens=counted.shared_tokens)
    if counted.bytes:
        same.filter(counted_bytes=0).update(
            counted_bytes=counted.bytes, counted_tokens=counted.tokens
        )
    version.refresh_from_db()


def _forecast(
    items: Items, options: RunOptions, counted: forecast.Counted, version: TaskVersion | None
) -> Estimate:
    shared = counted.shared_tokens
    if shared is None and version is not None:
        shared = version.shared_tokens
    work = forecast.draft_work(items.definition, shared)
    limits = Limits.objects.current()
    return forecast.forecast(work, items.sizes, options, limits, counted, version)
