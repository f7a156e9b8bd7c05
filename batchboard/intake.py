"""From a task type and items, of a file or of another batch, to a draft batch with its estimate:
all or nothing."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from django.db.models import Count
from django.utils import timezone

from batchboard import template
from batchboard.estimate import Estimate
from batchboard.ingest import read_rows
from batchboard.models import Batch, Limits, NewItem, RunOptions, TaskVersion
from batchboard.models.copying import copies
from batchboard.models.prices import is_priced, priced_models, why_not
from batchboard.models.task_type import definition_digest
from batchboard.roles import Right, require
from batchboard.states import BatchState, MoveRefused
from batchboard.task_definition import TaskDefinition
from batchboard.task_file import parse_bytes
from dispatch import forecast

SPOOL_BYTES = 8_000_000
TELL_EVERY = 500


class Source(Protocol):
    """Items that can be read more than once, for one definition; `sizes` fills as they are read:
    bytes of rendered prompt → how many items."""

    definition: TaskDefinition
    sizes: Counter[int]

    def rows(self) -> Iterator[NewItem]: ...


@dataclass
class Items:
    """A file of items. `key` is the column that holds the keys where that is not the definition's
    choice, `most` how many rows are taken."""

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


@dataclass
class Copied:
    """The items of another batch, as items of this definition."""

    batch: Batch
    definition: TaskDefinition
    sizes: Counter[int] = field(default_factory=Counter)

    def rows(self) -> Iterator[NewItem]:
        """In the order of its file. Raises MoveRefused where they lack what the prompt names."""
        self.sizes.clear()
        for item in copies(self.batch.items.all(), self.definition.prompt):
            self.sizes[item.prompt_bytes] += 1
            yield item


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


def estimate(items: Source, options: RunOptions) -> Estimate:
    """What a run would cost and take; reads the whole file, and creates nothing."""
    counted = _count(items, None)
    _read_all(items)
    version = stored_version(items.definition)
    return foresee(items.definition, items.sizes, options, counted, version)


def create(
    items: Source,
    options: RunOptions,
    name: str = "",
    by: Any = None,
    progress: Callable[[int], None] | None = None,
    arrives: bool = True,
    version: TaskVersion | None = None,
    **columns: Any,
) -> Batch:
    """A draft batch of all items, with its estimate; nothing at all where a row cannot be used.
    `version` is the one that holds the items' definition, where it exists already.

    The file is read once to see that all of it can be used, and then again to store it. `progress`
    is told all the while how many items are stored so far. Without `arrives` the batch is left
    ingesting: the caller makes it arrive, or discards it. Raises IngestError, and MoveRefused where
    the model has no price and the options do not allow for that.
    """
    if refusal := refused_price(items.definition.model, options):
        raise MoveRefused(f"{refusal} Nothing was created.")
    counted = _count(items, version)
    _read_all(items, progress)
    version = version or TaskVersion.objects.for_definition(items.definition, by)
    remember(version, counted)
    forecasted = foresee(items.definition, items.sizes, options, counted, version)
    columns |= _columns(forecasted)
    return Batch.objects.create_with_items(
        name=name or suggested_name(items.definition),
        version=version,
        items=items.rows(),
        options=options,
        by=by,
        progress=progress,
        arrives=arrives,
        **columns,
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


def clone(
    batch: Batch,
    name: str = "",
    *,
    newest: bool = True,
    by: Any = None,
    progress: Callable[[int], None] | None = None,
    arrives: bool = True,
) -> Batch:
    """A draft of the same items, to run like `batch`, under the newest version of its task type
    or its own, with an estimate as things stand now; `progress` and `arrives` as in `create`.
    Raises MoveRefused."""
    require(by, Right.OPERATE, f"run {batch.name} again")
    if batch.state == BatchState.INGESTING:
        raise MoveRefused(f"{batch.name} is still taking its items in: wait until it has them.")
    version = batch.version.newest() if newest else batch.version
    return create(
        Copied(batch, version.definition),
        RunOptions.of(batch),
        name.strip()[:200],
        by,
        progress=progress,
        arrives=arrives,
        version=version,
        clone_of=batch,
    )


def reject(
    batch: Batch,
    reason: str,
    by: Any = None,
    rerun: str | None = None,
    version: TaskVersion | None = None,
    progress: Callable[[int], None] | None = None,
    with_it: Callable[[Batch], None] | None = None,
) -> Batch | None:
    """`Batch.reject`; what is sent again has its own estimate."""
    again = batch.reject(reason, by, rerun, version, progress, with_it)
    if again is not None:
        _estimate_stored(again)
    return again


def suggested_name(definition: TaskDefinition) -> str:
    return f"[Batch] {definition.name}: {timezone.localdate():%b %-d}"[:200]


def first_rows(items: Source) -> list[dict[str, Any]]:
    """The first few rows, for counting."""
    return [item.data for item in islice(items.rows(), forecast.SAMPLE)]


def _read_all(items: Source, progress: Callable[[int], None] | None = None) -> None:
    for number, _ in enumerate(items.rows()):
        if progress and number % TELL_EVERY == 0:
            progress(0)


def _count(items: Source, version: TaskVersion | None) -> forecast.Counted:
    """What the provider counts, unless it did for this version before."""
    if version is not None and version.counted_bytes:
        return _counted_before(version)
    return forecast.count(forecast.draft_work(items.definition), first_rows(items))


def _counted_before(version: TaskVersion) -> forecast.Counted:
    return forecast.Counted(version.shared_tokens, version.counted_bytes, version.counted_tokens)


def _estimate_stored(batch: Batch) -> None:
    """Give a batch that holds its items an estimate; none where its model has no known price."""
    sizes = batch.items.order_by().values_list("prompt_bytes").annotate(number=Count("id"))
    stored = Copied(batch, batch.version.definition, Counter(dict(sizes)))
    try:
        found = foresee(
            stored.definition,
            stored.sizes,
            RunOptions.of(batch),
            _counted_before(batch.version),
            batch.version,
        )
    except LookupError:
        return
    Batch.objects.filter(pk=batch.pk).update(**_columns(found))
    batch.refresh_from_db()


def _columns(found: Estimate) -> dict[str, Any]:
    return {
        "estimate_expected": found.expected,
        "estimate_worst": found.worst,
        "estimate_seconds": found.seconds,
    }


def stored_version(definition: TaskDefinition) -> TaskVersion | None:
    """The newest version that says what the definition says, if it was ever stored."""
    return TaskVersion.objects.filter(
        task_type__name=definition.name, digest=definition_digest(definition)
    ).last()


def remember(version: TaskVersion, counted: forecast.Counted) -> None:
    """Keep what the provider counted with the version, where it is not known yet."""
    same = TaskVersion.objects.filter(pk=version.pk)
    if counted.shared_tokens is not None:
        same.filter(shared_tokens=None).update(shared_tokens=counted.shared_tokens)
    if counted.bytes:
        same.filter(counted_bytes=0).update(
            counted_bytes=counted.bytes, counted_tokens=counted.tokens
        )
    version.refresh_from_db()


def foresee(
    definition: TaskDefinition,
    sizes: Counter[int],
    options: RunOptions,
    counted: forecast.Counted,
    version: TaskVersion | None,
) -> Estimate:
    """What items of `sizes` (bytes of prompt → how many) would cost and take."""
    shared = counted.shared_tokens
    if shared is None and version is not None:
        shared = version.shared_tokens
    work = forecast.draft_work(definition, shared)
    limits = Limits.objects.current()
    return forecast.forecast(work, sizes, options, limits, counted, version)
