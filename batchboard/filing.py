"""The work on files that no web request waits for: reading uploads, storing their rows as batches,
making the batches that recur, and asking the provider to count.

What waits is known from the database alone. Whoever works on something holds its lease; when the
process dies the lease runs out, and the next one begins that piece anew.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import DatabaseError

from batchboard import experimenting, intake, repeating, rows
from batchboard.experiment_preparing import prepare_experiment
from batchboard.experimenting import PlanError
from batchboard.ingest import IngestError, read_rows
from batchboard.ingest.profile import Profiler
from batchboard.leasing import Taken, announce, claim, keeping, settle, sign, teller
from batchboard.models import (
    Batch,
    Experiment,
    Preparation,
    PreparationKind,
    PreparationState,
    RecurringRun,
    Upload,
    UploadState,
)
from batchboard.models.batch import new_seed
from batchboard.models.decision import decision
from batchboard.preparing import Prepared, prepare
from batchboard.states import MoveRefused
from dispatch import forecast

log = logging.getLogger(__name__)

HEAD_ROWS = 5
HEAD_TEXT = 20_000
"""Characters of a value that the preview keeps; a prompt is rendered from the file itself."""


UNEXPECTED = {
    "message": "Something unexpected happened.",
    "hint": "The log of the files worker has more.",
    "line": None,
    "column": None,
}


def work_through() -> int:
    """Do all that waits, one piece after another; returns how many."""
    done = 0
    sign()
    while _read_one() or _store_one() or repeating.make_one() or _count_one():
        done += 1
        sign()
    _clean(rows.now())
    return done


def _read_one() -> bool:
    upload = claim(Upload.objects.filter(state=UploadState.READING))
    if upload is None:
        return False
    watchers = list(upload.preparations.values_list("public_id", flat=True))
    try:
        with keeping(upload):
            _read(upload, watchers)
    except IngestError as wrong:
        settle(upload, state=UploadState.FAILED, error=_said(wrong))
    except Taken:
        log.warning("upload %s took too long and was taken over", upload.public_id)
    except DatabaseError:
        raise  # It is begun anew once the database is back.
    except Exception:
        log.exception("upload %s could not be read", upload.public_id)
        _give_up(upload, state=UploadState.FAILED, error=UNEXPECTED)
    announce(watchers)
    return True


def _read(upload: Upload, watchers: list[str]) -> None:
    stream = upload.open()
    profiler = Profiler("Row" if upload.name.lower().endswith((".xlsx", ".xlsm")) else "Line")
    head: list[dict[str, Any]] = []
    number = 0
    tell = teller(upload, watchers)
    for number, row in enumerate(
        read_rows(stream, upload.name, key=None, needs=frozenset(), checks_keys=False), start=1
    ):
        profiler.take(row)
        if number <= HEAD_ROWS:
            head.append({name: _shortened(value) for name, value in row.data.items()})
        if number % 500 == 0:
            tell(rows=number, bytes_read=min(upload.size, stream.tell()))
    profile = profiler.profile()
    settle(
        upload,
        state=UploadState.READY,
        rows=number,
        bytes_read=upload.size,
        columns=profile.names(),
        head=head,
        profile=profile.as_json(),
        error=None,
    )


def _store_one() -> bool:
    preparation = claim(
        Preparation.objects.filter(state=PreparationState.STORING)
        .exclude(upload__state=UploadState.READING)
        .select_related("upload", "owner", "source__version__task_type")
    )
    if preparation is None:
        return False
    watchers = [preparation.public_id]
    if preparation.source is not None:
        watchers.append(preparation.source.public_id)
    try:
        with keeping(preparation):
            STORES[preparation.kind](preparation, watchers)
    except (IngestError, MoveRefused, PlanError) as wrong:
        error = _said(wrong) if isinstance(wrong, IngestError) else {"message": str(wrong)}
        settle(preparation, state=PreparationState.EDITING, error=error, stored=0)
    except Taken:
        log.warning("batch %s took too long and was taken over", preparation.public_id)
    except DatabaseError:
        raise
    except Exception:
        log.exception("batch %s could not be stored", preparation.public_id)
        _give_up(preparation, state=PreparationState.EDITING, error=UNEXPECTED, stored=0)
    announce(watchers)
    return True


def _store(preparation: Preparation, watchers: list[str]) -> None:
    prepared = prepare(preparation)
    definition = prepared.definition
    if definition is None or preparation.upload is None or prepared.problems:
        raise MoveRefused("Something changed since: look at what is marked. Nothing was created.")
    tell = teller(preparation, watchers)
    items = prepared.items(preparation.upload)
    batch = intake.create(
        items,
        prepared.options,
        prepared.name,
        preparation.owner,
        progress=lambda number: tell(stored=number),
        arrives=False,
    )
    _arrive(preparation, batch)


def _store_experiment(preparation: Preparation, watchers: list[str]) -> None:
    found = prepare_experiment(preparation)
    if found.definition is None or found.problems:
        raise MoveRefused("Something changed since: look at what is marked. Nothing was created.")
    owner, seed = preparation.owner, new_seed()
    items = found.draw(preparation, seed)
    tell = teller(preparation, watchers)

    def be_done(experiment: Experiment) -> None:
        done = {"state": PreparationState.DONE, "experiment": experiment}
        settle(preparation, stored=len(items), **done)
        if preparation.starts:
            experiment.start(owner)

    experimenting.create(
        found.definition,
        items,
        found.arms,
        seed=seed,
        budget=found.budget,
        source=found.named_source(preparation),
        version=found.base.version,
        by=owner,
        progress=lambda number: tell(stored=number // len(found.arms)),
        with_it=be_done,
    )


def _clone(preparation: Preparation, watchers: list[str]) -> None:
    assert preparation.source is not None
    tell = teller(preparation, watchers)
    try:
        batch = intake.clone(
            preparation.source,
            preparation.fields["name"],
            newest=preparation.fields["version"] != "same",
            by=preparation.owner,
            progress=lambda number: tell(stored=number),
            arrives=False,
        )
    except LookupError as wrong:
        raise MoveRefused(f"{wrong} Nothing was created.") from wrong
    _arrive(preparation, batch)


def _rerun(preparation: Preparation, watchers: list[str]) -> None:
    batch, fields = preparation.source, preparation.fields
    assert batch is not None
    tell = teller(preparation, watchers)
    intake.reject(
        batch,
        fields["reason"],
        preparation.owner,
        fields["rerun"],
        batch.version.task_type.versions.filter(number=fields["version"] or 0).first(),
        progress=lambda number: tell(stored=number),
        with_it=lambda again: settle(
            preparation, state=PreparationState.DONE, batch=again, stored=again.total
        ),
    )


def _arrive(preparation: Preparation, batch: Batch) -> None:
    """The batch is there, and what asked for it is done: both or neither."""
    try:
        with decision():
            batch.arrive(preparation.owner)
            settle(preparation, state=PreparationState.DONE, batch=batch, stored=batch.total)
            if preparation.starts:
                batch.start(preparation.owner)
    except BaseException:
        batch.discard()
        raise


STORES: dict[str, Callable[[Preparation, list[str]], None]] = {
    PreparationKind.BATCH: _store,
    PreparationKind.EXPERIMENT: _store_experiment,
    PreparationKind.CLONE: _clone,
    PreparationKind.RERUN: _rerun,
}


def _count_one() -> bool:
    preparation = claim(
        Preparation.objects.filter(state=PreparationState.EDITING, upload__state=UploadState.READY)
        .exclude(count_wanted="")
        .select_related("upload")
    )
    if preparation is None:
        return False
    prepared = prepare(preparation)
    counted = {"digest": preparation.count_wanted} | asdict(_count(preparation, prepared))
    Preparation.objects.filter(pk=preparation.pk, lease_until=preparation.lease_until).update(
        counted=counted, lease_until=None
    )
    Preparation.objects.filter(pk=preparation.pk, count_wanted=preparation.count_wanted).update(
        count_wanted=""
    )
    announce([preparation.public_id])
    return True


def _count(preparation: Preparation, prepared: Prepared) -> forecast.Counted:
    if prepared.definition is None or preparation.upload is None:
        return forecast.Counted()
    items = prepared.items(preparation.upload)
    try:
        work = forecast.draft_work(prepared.definition)
        return forecast.count(work, intake.first_rows(items))
    except IngestError:
        return forecast.Counted()


def _clean(now: datetime) -> None:
    Preparation.objects.over(now).delete()
    Upload.objects.abandoned(now).delete()
    RecurringRun.objects.forgotten(now).delete()


def _give_up(piece: Upload | Preparation, **values: Any) -> None:
    """Left waiting it would be begun again and again, and what came after it would wait."""
    with suppress(Taken):
        settle(piece, **values)


def _said(wrong: IngestError) -> dict[str, Any]:
    return {
        "message": wrong.message,
        "hint": wrong.hint,
        "line": wrong.line,
        "column": wrong.column,
    }


def _shortened(value: Any) -> Any:
    return value[:HEAD_TEXT] if isinstance(value, str) else value
