"""The recorder: writes how calls ended, in groups, and lets the governor fill the freed slots.

One decision settles a group and admits what may follow, so that in the steady state a batch runs
without a hop through the broker. A result counts only while its attempt is still live and still
this worker's; whoever lost the lease records nothing.
"""

import logging
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from django.db.models import Count, F

from batchboard import rows, signals
from batchboard.models import Attempt, Batch, LedgerDay
from batchboard.models.attempt import TOKENS
from batchboard.models.limits import month_of
from batchboard.money import dollars
from batchboard.states import UNFINISHED_BATCH, Block, ItemState
from dispatch import adaptive, conversations, governor, outage
from dispatch.buckets import Need
from dispatch.calls import Began, Finished
from dispatch.deciding import Deciding, deciding
from dispatch.ended import Ended, calls_among, ended_parts, storable
from dispatch.learning import learn, warm
from dispatch.live import count_live
from dispatch.outcome import Action, Decision, Outcome, decide
from dispatch.provider_identity import provider_now

log = logging.getLogger("dispatch.attempt")
chance = random.SystemRandom()

BLOCKS = {Outcome.UNAUTHORISED: Block.KEY_REFUSED, Outcome.SPEND_CAP: Block.SPEND_CAP}
STATES = {
    Action.SUCCEED: ItemState.SUCCEEDED,
    Action.BURY: ItemState.DEAD,
    Action.CANCEL: ItemState.CANCELLED,
}
WORKERS = (
    "SELECT COUNT(*), COALESCE(SUM(CASE WHEN id = %s THEN 1 ELSE 0 END), 0)"
    " FROM batchboard_worker WHERE NOT fenced AND (lease_until > %s OR id = %s)"
)
SPEND = (
    "INSERT INTO batchboard_spend (month, known, unknown) VALUES (%s, %s, %s)"
    " ON CONFLICT (month) DO UPDATE SET known = batchboard_spend.known + excluded.known,"
    " unknown = batchboard_spend.unknown + excluded.unknown"
)
SETTLED = (
    "UPDATE batchboard_submission SET unsettled = unsettled - %s, reserved = reserved - %s"
    " WHERE id = %s AND owner = %s RETURNING id"
)
ATTEMPT = (
    "outcome", "problem", "status", "request_id", *TOKENS, "cost", "latency_ms", "started_at",
    "ended_at",
)  # fmt: skip
ITEM = (
    "state", "due_at", "outcome", "problem", "cost+", "input_tokens+", "output_tokens+",
    "cache_write_tokens+", "cache_read_tokens+", "latency_ms", "result_id",
)  # fmt: skip
BATCH = (
    "succeeded+", "dead+", "cancelled+", "cost+", "unknown_cost+", "input_tokens+",
    "output_tokens+", "cache_write_tokens+", "cache_read_tokens+",
)  # fmt: skip


class Fenced(Exception):
    """This worker's lease ran out and its calls were given to others: it must record nothing."""


Touched: TypeAlias = list[tuple[str, str, bool]]
"""Batches that changed: public id, state, and whether the last item ended."""


@dataclass(slots=True)
class Recorded:
    """What one decision recorded and let through; it is committed."""

    ended: list[Ended]
    touched: Touched
    admission: governor.Admission = field(default_factory=governor.Admission)


def settle(worker: int, events: Sequence[Finished | Began], *, admits: bool) -> governor.Admission:
    """Record `events` of `worker`, and tell who waits for it; see `record` and `tell`."""
    recorded = record(worker, events, admits=admits)
    tell(recorded)
    return recorded.admission


def record(worker: int, events: Sequence[Finished | Began], *, admits: bool) -> Recorded:
    """Record `events` of `worker` and, with `admits`, let it begin what now fits its share.

    Raises Fenced, recording nothing, where the worker lost its lease.
    """
    finished = [event for event in events if isinstance(event, Finished)]
    touched: Touched = []
    with deciding() as made:
        alive, mine = rows.execute(WORKERS, [worker, made.now, worker])[0]
        if not mine:
            raise Fenced
        for event in events:
            if isinstance(event, Began):
                warm(event.call, made.now)
        parts = [part for one in finished for part in ended_parts(one)]
        ended = _end_attempts(parts, "t.worker_id = %s", worker, made.now)
        live = count_live(made.limits)
        if ended:
            _count_unanswered(calls_among(ended), made)
            touched = _settle(ended, made)
            _settle_limits(calls_among(ended), made, live.slots)
        admission = governor.Admission()
        if admits:
            adaptive.grow(made.limits, live.slots + len(calls_among(ended)))
            room = governor.fair_room(made.limits, live, worker, alive)
            admission = governor.admit(made, [governor.Target(worker, room)], live, granted=False)
    return Recorded(ended, touched, admission)


def settle_submission(submission: int, owner: str, finished: Sequence[Finished]) -> None:
    """Record how requests of a submission ended; what was settled before counts no more.

    Nothing of it was taken from the token buckets, so nothing is given back. Raises Fenced,
    recording nothing, where `owner` no longer holds the submission.
    """
    touched: Touched = []
    with deciding() as made:
        parts = [part for one in finished for part in ended_parts(one)]
        ended = _end_attempts(parts, "t.submission_id = %s", submission, made.now)
        held = sum(part.part.reserved for part in ended)
        if not rows.execute(SETTLED, [len(ended), held, submission, owner]):
            raise Fenced
        if ended:
            touched = _settle(ended, made)
    tell(Recorded(ended, touched))


def tell(recorded: Recorded) -> None:
    """Log what ended, announce what changed, and finish batches whose last item ended; where that
    fails, the pump finishes them."""
    for one in recorded.ended:
        _log(one)
    for public_id, state, full in recorded.touched:
        signals.announce_batch(public_id)
        if full and state in UNFINISHED_BATCH:
            Batch.objects.get(public_id=public_id).finish()


def _end_attempts(parts: list[Ended], whose: str, holder: int, now: datetime) -> list[Ended]:
    """End the attempts that have not ended and are still the holder's; returns those that were."""
    parts = list({part.part.attempt: part for part in parts}.values())
    values = []
    for part in parts:
        usage, reply = part.usage, part.finished.reply
        tokens = (None,) * len(TOKENS) if usage is None else usage.by_kind
        values.append(
            (part.part.attempt, part.reply.outcome.value, part.problem, reply.status,
             storable(reply.request_id[:100]), *tokens, part.cost, part.latency_ms,
             part.finished.started_at, now)
        )  # fmt: skip
    mine = f"t.ended_at IS NULL AND {whose}"
    counted = {
        attempt
        for (attempt,) in rows.update_rows(
            "batchboard_attempt", ATTEMPT, values, where=mine, params=[holder], returning="id"
        )
    }
    return [part for part in parts if part.part.attempt in counted]


def _settle(ended: list[Ended], made: Deciding) -> Touched:
    """Everything that follows from attempts that ended; returns the batches that they changed."""
    _route(ended, made)
    _store_answers(ended)
    _move_items(ended, made.now)
    changed = _count(ended, made.now)
    LedgerDay.objects.add([part.line for part in ended], made.now)
    _converse(ended, made.now)
    learn(ended)
    _block(ended)
    return changed


def _count_unanswered(finished: list[Finished], made: Deciding) -> None:
    """Notice outages, before anything is decided of the items that met one."""
    for model, calls in _by_model(finished).items():
        outage.count(made.buckets(model), calls)


def _route(ended: list[Ended], made: Deciding) -> None:
    """Decide where each item goes; only failures need to know what was before."""
    failed = [part for part in ended if part.reply.outcome is not Outcome.OK]
    earlier: dict[int, Counter[str]] = defaultdict(Counter)
    if failed:
        counts = (
            Attempt.objects.ended()
            .filter(item__in=[part.part.item for part in failed], id__gt=F("item__tries_since"))
            .exclude(pk__in=[part.part.attempt for part in failed])
            .order_by()
            .values_list("item", "outcome")
            .annotate(count=Count("id"))
        )
        for item, outcome, count in counts:
            earlier[item][outcome] = count
    for part in ended:
        decision = decide(part.reply.outcome, earlier[part.part.item], chance)
        if part.reply.outcome is Outcome.RATE_LIMITED and decision.action is Action.WAIT:
            seconds = part.finished.reply.retry_after
            delay = adaptive.PAUSE_SECONDS if seconds is None else seconds
            decision = replace(decision, delay=delay)
        elif outage.spares(made, part.finished.call.model, part.reply.outcome):
            decision = Decision(Action.WAIT)
        part.decision = decision


def _store_answers(ended: list[Ended]) -> None:
    rows.insert_rows(
        "batchboard_answer",
        ("attempt_id", "text", "stop_reason"),
        [
            (part.part.attempt, storable(part.reply.text),
             storable(part.finished.reply.stop_reason[:40]))
            for part in ended
            if part.reply.text is not None
        ],
    )  # fmt: skip


def _move_items(ended: list[Ended], now: datetime) -> None:
    values = []
    for part in ended:
        state = STATES.get(part.decision.action, ItemState.WAITING)
        due = now + timedelta(seconds=part.decision.delay) if state == ItemState.WAITING else None
        used = part.used
        values.append(
            (part.part.item, state.value, due, part.reply.outcome.value, part.problem,
             part.cost or 0, used.input, used.output, used.cache_write,
             used.cache_read, part.latency_ms,
             part.part.attempt if state == ItemState.SUCCEEDED else None)
        )  # fmt: skip
    rows.update_rows("batchboard_item", ITEM, values, where="t.state = 'running'")


def _count(ended: list[Ended], now: datetime) -> Touched:
    """Move the counters of batches and of the month; returns each batch's public id, its state,
    and whether its last item ended. What an attempt of unknown cost held stays as a bound."""
    by_batch: dict[int, list[int]] = defaultdict(lambda: [0] * len(BATCH))
    known = unknown = 0
    for part in ended:
        used, action = part.used, part.decision.action
        bound = part.part.reserved if part.cost is None else 0
        known += part.cost or 0
        unknown += bound
        added = (
            action is Action.SUCCEED, action is Action.BURY, action is Action.CANCEL,
            part.cost or 0, bound, used.input, used.output,
            used.cache_write, used.cache_read,
        )  # fmt: skip
        totals = by_batch[part.batch]
        for index, value in enumerate(added):
            totals[index] += int(value)
    if known or unknown:
        rows.execute(SPEND, [month_of(now), known, unknown])
    changed = rows.update_rows(
        "batchboard_batch",
        BATCH,
        [(batch, *totals) for batch, totals in by_batch.items()],
        returning="public_id, state, succeeded, dead, cancelled, total",
    )
    return [(public_id, state, sum(done) >= total) for public_id, state, *done, total in changed]


def _settle_limits(finished: list[Finished], made: Deciding, in_flight: int) -> None:
    """Correct the token buckets by what was really used, and answer to rate limits."""
    for model, calls in _by_model(finished).items():
        buckets = made.buckets(model)
        for one in calls:
            usage = one.reply.usage
            if usage is not None:
                taken = usage.input + usage.cache_write
                buckets.give_back(
                    Need(0, one.call.expected_input - taken,
                         one.call.expected_output - usage.output)
                )  # fmt: skip
                buckets.generated(usage.output)
            buckets.learn(one.reply.told, provider_now())
        adaptive.answer(made.limits, buckets, calls, in_flight + len(finished))


def _by_model(finished: list[Finished]) -> dict[str, list[Finished]]:
    found: dict[str, list[Finished]] = defaultdict(list)
    for one in finished:
        found[one.call.model].append(one)
    return found


def _converse(ended: list[Ended], now: datetime) -> None:
    """What succeeded in a conversation is part of it from now on."""
    for part in ended:
        session = part.finished.call.session
        if session is not None and part.decision.action is Action.SUCCEED:
            size = part.part.prompt_bytes + len((part.reply.text or "").encode(errors="replace"))
            conversations.took(session, part.used.prompt + part.used.output, size, now)


def _block(ended: list[Ended]) -> None:
    """Stop batches whose call was refused for a reason that every further call would share."""
    refused = {part.batch: part for part in ended if part.decision.action is Action.BLOCK}
    for part in refused.values():
        Batch.objects.get(pk=part.batch).block(BLOCKS[part.reply.outcome], part.problem)


def _log(part: Ended) -> None:
    """One line for each attempt, with the same fields however it ended."""
    if not log.isEnabledFor(logging.INFO):
        return
    call, reply, usage = part.finished.call, part.finished.reply, part.usage
    log.info(
        "attempt=%s batch=%s item=%r model=%s mode=%s outcome=%s next=%s status=%s request=%s "
        "latency_ms=%s input=%s output=%s cache_write=%s cache_read=%s cost_usd=%s problem=%r",
        part.part.attempt, call.public_id, part.part.key[:60], call.model, call.mode,
        part.reply.outcome.value, part.decision.action.value, reply.status,
        reply.request_id or None, part.latency_ms, usage and usage.input, usage and usage.output,
        usage and usage.cache_write, usage and usage.cache_read,
        None if part.cost is None else f"{dollars(part.cost):f}", part.reply.problem[:120],
    )  # fmt: skip
