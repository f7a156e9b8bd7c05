"""Submissions on their way: sent once, asked about, stopped, and collected.

The API takes no idempotency key, so nothing may be sent twice by mistake. A submission is
`sending`, committed, before its request goes out. Whoever finds it so afterwards does not know
whether the provider took it, and looks for it: among the provider's batches of that time for one of
as many requests. Its results prove that it is the right one; a wrong one is put back, and the
search goes on. Only when none showed up for longer than the request could have been on its way is
it sent again: a minute after it ended, where that is known, because its error came or because its
process is gone from this machine, and else a minute after its longest time.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import IO, TYPE_CHECKING, Any

from django.db import connections

from batchboard import rows, signals
from batchboard.models import Submission
from batchboard.models.decision import decision
from batchboard.pricing import Usage
from batchboard.states import OPEN_BATCH, BatchState, SubmissionState
from dispatch import holding, recorder
from dispatch.calls import Reply
from dispatch.holding import Held
from dispatch.message_batches import (
    MessageBatches,
    Seen,
    failures,
    never_sent,
    read_result,
    write_body,
)
from dispatch.outcome import Outcome
from dispatch.provider import reply_to
from dispatch.submission_ending import GROUP, end, settle
from dispatch.submission_requests import attempt_of, is_ours, requests_of

if TYPE_CHECKING:
    import anthropic
else:
    from dispatch.sdk import anthropic

log = logging.getLogger(__name__)

S = SubmissionState

GROUP_SECONDS = 1.0
POST_SECONDS = 300.0
MARGIN_SECONDS = 60.0
"""How long after its own end a request that was cut off may still create something."""

CLOCKS_APART = timedelta(minutes=5)
LIFETIME = timedelta(hours=25)
"""The provider ends a message batch after 24 hours, come what may."""

FIRST_LOOK_SECONDS = 2.0
LONGEST_LOOK_SECONDS = 60.0
LONGEST_SEARCH_SECONDS = 15.0
MOST_PASSES = 3
IN_MEMORY = 8_000_000
NOTHING = Usage()

REFUSALS = {Outcome.INVALID, Outcome.UNAUTHORISED, Outcome.SPEND_CAP}
"""The provider took nothing, and would not take the same again as it is."""


def work_through() -> int:
    """Do for each submission what is due; returns how many there were."""
    done = 0
    while (held := holding.claim()) is not None:
        with held:
            try:
                _advance(held)
            except (holding.Lost, recorder.Fenced):
                log.warning("submission %s was taken over", held.row.public_id)
            except failures() as error:
                _put_off(held, _said(error))
            except Exception:
                log.exception("submission %s: put off", held.row.public_id)
                _put_off(held, "It could not be worked on: the log of the files worker says why.")
        signals.announce_batch(held.row.batch.public_id)
        done += 1
    if done:
        signals.announce_work()
    return done


def _advance(held: Held) -> None:
    row = held.row
    if row.state in {S.PREPARING, S.READY}:
        if row.batch.state == BatchState.CANCELLED:
            end(held, Reply(Outcome.CANCELLED, "A person cancelled the batch.", usage=NOTHING))
        else:
            _send(held)
    elif row.state == S.SENDING:
        _search(held)
    elif row.state == S.WORKING:
        _look(held)
    else:
        _collect(held)


# Sending


def _send(held: Held) -> None:
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as body:
        count = write_body(body, requests_of(held))
        if not count:
            held.write(state=S.ENDED, ended_at=rows.now())
            return
        body.seek(0)
        if _begin_to_send(held, count):
            _post(held, body)


def _begin_to_send(held: Held, count: int) -> bool:
    """Commit that it may exist from now on. One at a time: of two that are looked for at once,
    each could be taken for the other."""
    with decision() as limits:
        other = Submission.objects.open().filter(state=S.SENDING).exclude(pk=held.row.pk)
        may = Submission.objects.filter(
            pk=held.row.pk, batch__state__in=OPEN_BATCH, batch__blocked=""
        )
        if limits.paused or other.exists() or not may.exists():
            held.write(next_at=rows.now() + timedelta(seconds=FIRST_LOOK_SECONDS))
            return False
        held.write(
            state=S.SENDING,
            sent_at=rows.now(),
            cut_off_at=None,
            next_at=None,
            requests=count,
            refused=[],
            problem="",
        )
    return True


def _post(held: Held, body: IO[bytes]) -> None:
    # No connection to the database is held while a request is on its way.
    if not connections["default"].in_atomic_block:
        connections["default"].close()
    if not held.safe:
        raise holding.Lost
    try:
        with MessageBatches() as batches:
            created = batches.create(body, POST_SECONDS)
    except failures() as error:
        _not_sent(held, error)
        return
    _with_provider(held, created, proven=True)


def _not_sent(held: Held, error: Exception) -> None:
    """An error answer: refused for good, refused for now, or nobody knows."""
    reply = reply_to(error)
    if reply.outcome in REFUSALS:
        end(held, Reply(reply.outcome, reply.problem, usage=NOTHING, status=reply.status), S.FAILED)
    elif reply.outcome is Outcome.RATE_LIMITED or never_sent(error):
        wait = reply.retry_after or _longer(held.row.tries, LONGEST_LOOK_SECONDS)
        held.write(state=S.READY, sent_at=None)
        _put_off(held, reply.problem, wait)
    else:
        held.write(cut_off_at=rows.now())
        _put_off(held, reply.problem, 1.0)


# Looking for one that may have been created


def _search(held: Held) -> None:
    row = held.row
    assert row.sent_at is not None
    with MessageBatches() as batches:
        found = [
            one
            for one in batches.created_since(row.sent_at - CLOCKS_APART)
            if one.requests == row.requests and one.id not in row.refused
        ]
    taken = dict(
        Submission.objects.filter(provider_id__in=[one.id for one in found]).values_list(
            "provider_id", "proven"
        )
    )
    free = [one for one in reversed(found) if one.id not in taken]
    ended = row.cut_off_at or row.sent_at + timedelta(seconds=POST_SECONDS)
    over = ended + timedelta(seconds=MARGIN_SECONDS)
    if free:
        log.warning("submission %s: found as %s", row.public_id, free[0].id)
        _with_provider(held, free[0], proven=False)
    elif rows.now() < over or not all(taken.values()):
        _put_off(
            held, "Nobody knows yet whether it arrived.", _longer(row.tries, LONGEST_SEARCH_SECONDS)
        )
    else:
        log.warning("submission %s: never arrived, to be sent again", row.public_id)
        held.write(state=S.READY, sent_at=None, next_at=None, tries=0)


def _with_provider(held: Held, found: Seen, *, proven: bool) -> None:
    held.write(
        state=S.WORKING,
        provider_id=found.id,
        proven=proven,
        tries=0,
        problem="",
        next_at=rows.now() + timedelta(seconds=FIRST_LOOK_SECONDS),
    )


# With the provider


def _look(held: Held) -> None:
    row = held.row
    assert row.sent_at is not None
    with MessageBatches() as batches:
        try:
            seen = batches.look_at(row.provider_id)
            if seen.ended_at is None and _is_to_be_stopped(row):
                batches.cancel(row.provider_id)
                held.write(cancelled_at=rows.now(), tries=0)
        except anthropic.NotFoundError:
            if rows.now() < row.sent_at + LIFETIME:
                raise
            end(held, Reply(Outcome.LOST, "The provider no longer knows its message batch."))
            return
    if seen.ended_at is None:
        _put_off(held, "", _longer(row.tries, LONGEST_LOOK_SECONDS))
        return
    held.write(state=S.COLLECTING, worked_at=seen.ended_at, tries=0, next_at=None, problem="")


def _is_to_be_stopped(row: Submission) -> bool:
    """What was only found may be another's: it is left alone until its results tell."""
    return row.proven and row.cancelled_at is None and row.batch.state == BatchState.CANCELLED


# Collecting


def _collect(held: Held) -> None:
    row = held.row
    row.batch.refresh_from_db()
    cancelled = row.batch.state == BatchState.CANCELLED
    with MessageBatches() as batches:
        results = batches.results(row.provider_id)
        for group in _as_they_come(results):
            if not row.proven:
                if not is_ours(row, group[0][0]):
                    _put_back(held)
                    return
                held.write(proven=True)
            _settle_results(held, group, cancelled=cancelled)
    if row.waiting_attempts.exists() and row.tries + 1 < MOST_PASSES:
        # The connection may have ended early and said nothing of it.
        _put_off(held, "Results are missing.", FIRST_LOOK_SECONDS)
        return
    end(held, Reply(Outcome.LOST, "The provider's message batch holds no result for it."))


def _put_back(held: Held) -> None:
    """What was found is another's; the search goes on."""
    row = held.row
    log.warning("submission %s is not %s", row.public_id, row.provider_id)
    held.write(
        state=S.SENDING,
        refused=[*row.refused, row.provider_id],
        provider_id="",
        worked_at=None,
        next_at=None,
        tries=0,
    )


def _settle_results(
    held: Held, group: list[tuple[str, dict[str, Any]]], *, cancelled: bool
) -> None:
    results: dict[int, dict[str, Any]] = {}
    for custom_id, result in group:
        attempt = attempt_of(held.row, custom_id)
        if attempt is not None:
            results[attempt] = result
    attempts = held.row.waiting_attempts.filter(pk__in=results).select_related("item", "price")
    settle(held, [(one, read_result(results[one.pk], cancelled=cancelled)) for one in attempts])


def _put_off(held: Held, problem: str, seconds: float | None = None) -> None:
    row = held.row
    wait = _longer(row.tries, LONGEST_LOOK_SECONDS) if seconds is None else seconds
    held.write(
        tries=row.tries + 1, problem=problem[:300], next_at=rows.now() + timedelta(seconds=wait)
    )


def _longer(tries: int, longest: float) -> float:
    """Seconds that grow by half with each try."""
    return float(min(longest, FIRST_LOOK_SECONDS * 1.5 ** min(tries, 20)))


def _said(error: Exception) -> str:
    return reply_to(error).problem


def _as_they_come(results: Iterable[Any]) -> Iterator[list[Any]]:
    """Groups of results; from a slow stream small ones, so that little is read again after a
    crash."""
    group: list[Any] = []
    until = time.monotonic() + GROUP_SECONDS
    for one in results:
        group.append(one)
        if len(group) >= GROUP or time.monotonic() >= until:
            yield group
            group, until = [], time.monotonic() + GROUP_SECONDS
    if group:
        yield group
