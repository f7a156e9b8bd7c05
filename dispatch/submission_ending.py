"""How requests of a submission end: settled a group at a time, while the submission is ours."""

import logging
from collections.abc import Iterable

from batchboard import rows
from batchboard.models import Attempt, Submission
from batchboard.money import units
from batchboard.pricing import Rates
from batchboard.states import SubmissionState
from dispatch import recorder
from dispatch.calls import Call, Finished, Part, Reply
from dispatch.holding import Held
from dispatch.modes import MODES
from dispatch.modes.work import ItemWork
from dispatch.outcome import Outcome
from dispatch.versions import work_of

log = logging.getLogger(__name__)

GROUP = 200
"""Requests that are read, or settled, at a time."""


def end(held: Held, reply: Reply, state: SubmissionState = SubmissionState.ENDED) -> None:
    """End what has not ended as `reply` says, and the submission with it."""
    row = held.row
    while attempts := list(row.waiting_attempts.select_related("item", "price")[:GROUP]):
        settle(held, [(one, reply) for one in attempts])
    held.write(
        state=state,
        ended_at=rows.now(),
        next_at=None,
        problem=reply.problem if state == SubmissionState.FAILED else "",
    )


def settle(held: Held, ended: Iterable[tuple[Attempt, Reply]]) -> None:
    """Record how these attempts ended. Raises recorder.Fenced where the submission is not ours."""
    finished = [_finished(held.row, one, reply) for one, reply in ended]
    if finished:
        recorder.settle_submission(held.row.pk, held.owner, finished)


def _finished(row: Submission, attempt: Attempt, reply: Reply) -> Finished:
    began = row.sent_at or attempt.granted_at
    if row.worked_at is not None:
        reply.latency = max(0.0, (row.worked_at - began).total_seconds())
    reserved = units(attempt.reserved)
    call = Call(
        number=attempt.call,
        worker=0,
        batch=row.batch_id,
        public_id=row.batch.public_id,
        version=row.batch.version_id,
        model=attempt.model,
        mode=attempt.mode,
        max_tokens=attempt.max_tokens,
        timeout=0.0,
        rates=Rates.of_json(attempt.price.rates) if attempt.price else None,
        reserved=reserved,
        expected_input=0,
        expected_output=0,
        parts=[
            Part(attempt.pk, attempt.item_id, attempt.item.key, attempt.item.prompt_bytes, reserved)
        ],
        cache=attempt.cache,
        salt=row.batch.cache_salt,
    )
    work, mode = work_of(call.version), MODES[call.mode]
    try:
        parts = mode.read(work, [ItemWork(attempt.item.key, {})], call, reply)
    except Exception as error:
        log.exception("attempt %s could not be read", attempt.pk)
        problem = f"{type(error).__name__}: {error}"[:300]
        reply = Reply(Outcome.UNKNOWN, problem, usage=reply.usage, latency=reply.latency)
        parts = mode.read(work, [ItemWork(attempt.item.key, {})], call, reply)
    return Finished(call, reply, parts, began)
