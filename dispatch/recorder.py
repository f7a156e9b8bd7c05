"""The recorder: writes how calls ended, in groups, and lets the governor fill the freed slots.

One decision settles a group and admits what may follow, so that in the steady state a batch runs
without a hop through the broker. A result counts only while its attempt is still live and still
this worker's; whoever lost the lease records nothing.
"""

import logging
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Count, F

from batchboard import rows, signals
from batchboard.models import Attempt, Batch, LedgerDay
from batchboard.models.ledger_day import Line
from batchboard.models.limits import month_of
from batchboard.money import dollars, share_out
from batchboard.pricing import Usage
from batchboard.states import UNFINISHED_BATCH, Block, ItemState
from dispatch import adaptive, conversations, governor, outage
from dispatch.buckets import Need
from dispatch.calls import Began, Call, Finished, Part, PartReply, cost_at
from dispatch.deciding import Deciding, deciding
from dispatch.live import count_live
from dispatch.modes.cached import LIFETIME_SECONDS, MARGIN_SECONDS
from dispatch.outcome import Action, Decision, Outcome, decide
from dispatch.provider_identity import provider_now
from dispatch.versions import work_of

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
WARM = (
    "INSERT INTO batchboard_warmcache (version_id, mode, salt, warm_until) VALUES (%s, %s, %s, %s)"
    " ON CONFLICT (version_id, mode, salt) DO UPDATE SET warm_until = excluded.warm_until"
    " WHERE batchboard_warmcache.warm_until < excluded.warm_until"
)
ATTEMPT = (
    "outcome", "problem", "status", "request_id", "input_tokens", "output_tokens",
    "cache_write_5m_tokens", "cache_write_1h_tokens", "cache_read_tokens", "cost", "latency_ms",
    "started_at", "ended_at",
)  # fmt: skip
ITEM = (
    "state", "due_at", "outcome", "problem", "cost+", "input_tokens+", "output_tokens+",
    "cache_write_tokens+", "cache_read_tokens+", "latency_ms", "result_id",
)  # fmt: skip
BATCH = (
    "succeeded+", "dead+", "cancelled+", "cost+", "unknown_cost+", "input_tokens+",
    "output_tokens+", "cache_write_tokens+", "cache_read_tokens+",
)  # fmt: skip
MEASURED = (
    "INSERT INTO batchboard_measured AS m (version_id, mode, calls, items, bytes, input_tokens,"
    " output_tokens, latency_ms) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
    " ON CONFLICT (version_id, mode) DO UPDATE SET calls = m.calls + excluded.calls,"
    " items = m.items + excluded.items, bytes = m.bytes + excluded.bytes,"
    " input_tokens = m.input_tokens + excluded.input_tokens,"
    " output_tokens = m.output_tokens + excluded.output_tokens,"
    " latency_ms = m.latency_ms + excluded.latency_ms"
)


class Fenced(Exception):
    """This worker's lease ran out and its calls were given to others: it must record nothing."""


@dataclass(slots=True)
class Ended:
    """One attempt as it ends: the item's share of its call's tokens and cost (units)."""

    finished: Finished
    part: Part
    reply: PartReply
    usage: Usage | None
    cost: int | None
    decision: Decision = Decision(Action.BURY)  # noqa: RUF009 - frozen

    @property
    def batch(self) -> int:
        return self.finished.call.batch

    @property
    def latency_ms(self) -> int:
        return round(self.finished.reply.latency * 1000)

    @property
    def problem(self) -> str:
        return _storable(self.reply.problem[:300])

    @property
    def line(self) -> Line:
        call, used = self.finished.call, self.used
        tokens = (used.input, used.output, used.cache_write_5m, used.cache_write_1h,
                  used.cache_read)  # fmt: skip
        bound = None if call.rates is None else self.part.reserved
        return Line(call.batch, call.model, call.mode, tokens, self.cost, bound)

    @property
    def used(self) -> Usage:
        return self.usage or NOTHING


NOTHING = Usage()


def settle(worker: int, events: Sequence[Finished | Began], *, admits: bool) -> governor.Admission:
    """Record `events` of `worker` and, with `admits`, let it begin what now fits its share.

    Raises Fenced, recording nothing, where the worker lost its lease.
    """
    finished = [event for event in events if isinstance(event, Finished)]
    touched: list[tuple[str, str, bool]] = []
    with deciding() as made:
        alive, mine = rows.execute(WORKERS, [worker, made.now, worker])[0]
        if not mine:
            raise Fenced
        for event in events:
            if isinstance(event, Began):
                _warm(event.call, made.now)
        parts = [part for one in finished for part in _parts(one)]
        ended = _end_attempts(parts, "t.worker_id = %s", worker, made.now)
        live = count_live(made.limits)
        if ended:
            _count_unanswered(_calls(ended), made)
            touched = _settle(ended, made)
            _settle_limits(_calls(ended), made, live.slots)
        admission = governor.Admission()
        if admits:
            adaptive.grow(made.limits, live.slots + len(_calls(ended)))
            room = governor.fair_room(made.limits, live, worker, alive)
            admission = governor.admit(made, [governor.Target(worker, room)], live, granted=False)
    _tell(ended, touched)
    return admission


def settle_submission(submission: int, owner: str, finished: Sequence[Finished]) -> None:
    """Record how requests of a submission ended; what was settled before counts no more.

    Nothing of it was taken from the token buckets, so nothing is given back. Raises Fenced,
    recording nothing, where `owner` no longer holds the submission.
    """
    touched: list[tuple[str, str, bool]] = []
    with deciding() as made:
        parts = [part for one in finished for part in _parts(one)]
        ended = _end_attempts(parts, "t.submission_id = %s", submission, made.now)
        held = sum(part.part.reserved for part in ended)
        if not rows.execute(SETTLED, [len(ended), held, submission, owner]):
            raise Fenced
        if ended:
            touched = _settle(ended, made)
    _tell(ended, touched)


def _tell(ended: list[Ended], touched: list[tuple[str, str, bool]]) -> None:
    for one in ended:
        _log(one)
    for public_id, state, full in touched:
        signals.announce_batch(public_id)
        if full and state in UNFINISHED_BATCH:
            Batch.objects.get(public_id=public_id).finish()


def _parts(finished: Finished) -> list[Ended]:
    """Share a call's tokens out among its items, to the last one: what was sent by the size of
    each prompt and an equal part of what all share, the answer by what each got of it. Costs
    follow from the tokens, and so add up to what the call costs."""
    call, usage, count = finished.call, finished.reply.usage, len(finished.parts)
    shares: list[Usage | None] = [None] * count
    costs: list[int | None] = [None] * count
    if usage is not None and count == 1:
        shares, costs = [usage], [cost_at(call.rates, usage)]
    elif usage is not None:
        shared = work_of(call.version).shared_bytes // count + 1
        sent = [part.prompt_bytes + shared for part in call.parts]
        got = [len(part.text or "") + 1 for part in finished.parts]
        by_kind = [
            share_out(usage.input, sent), share_out(usage.output, got),
            share_out(usage.cache_write_5m, sent), share_out(usage.cache_write_1h, sent),
            share_out(usage.cache_read, sent),
        ]  # fmt: skip
        each = [Usage(*share) for share in zip(*by_kind, strict=True)]
        applied = call.rates.applied(usage) if call.rates else None
        shares, costs = list(each), [cost_at(applied, share) for share in each]
    return [
        Ended(finished, *columns)
        for columns in zip(call.parts, finished.parts, shares, costs, strict=True)
    ]


def _end_attempts(parts: list[Ended], whose: str, holder: int, now: datetime) -> list[Ended]:
    """End the attempts that have not ended and are still the holder's; returns those that were."""
    parts = list({part.part.attempt: part for part in parts}.values())
    values = []
    for part in parts:
        usage, reply = part.usage, part.finished.reply
        tokens: tuple[int | None, ...] = (None,) * 5
        if usage is not None:
            tokens = (usage.input, usage.output, usage.cache_write_5m, usage.cache_write_1h,
                      usage.cache_read)  # fmt: skip
        values.append(
            (part.part.attempt, part.reply.outcome.value, part.problem, reply.status,
             _storable(reply.request_id[:100]), *tokens, part.cost, part.latency_ms,
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


def _settle(ended: list[Ended], made: Deciding) -> list[tuple[str, str, bool]]:
    """Everything that follows from attempts that ended; returns the batches that they changed."""
    _route(ended, made)
    _store_answers(ended)
    _move_items(ended, made.now)
    changed = _count(ended, made.now)
    LedgerDay.objects.add([part.line for part in ended], made.now)
    _converse(ended, made.now)
    _measure(ended)
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
            (part.part.attempt, _storable(part.reply.text),
             _storable(part.finished.reply.stop_reason[:40]))
            for part in ended
            if part.reply.text is not None
        ],
    )  # fmt: skip


def _storable(text: str) -> str:
    """Text as every database takes it: no NUL, and no half of a character that was cut off."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}").encode(errors="replace").decode()


def _move_items(ended: list[Ended], now: datetime) -> None:
    values = []
    for part in ended:
        state = STATES.get(part.decision.action, ItemState.WAITING)
        due = now + timedelta(seconds=part.decision.delay) if state == ItemState.WAITING else None
        used = part.used
        values.append(
            (part.part.item, state.value, due, part.reply.outcome.value, part.problem,
             part.cost or 0, used.input, used.output, used.cache_write_5m + used.cache_write_1h,
             used.cache_read, part.latency_ms,
             part.part.attempt if state == ItemState.SUCCEEDED else None)
        )  # fmt: skip
    rows.update_rows("batchboard_item", ITEM, values, where="t.state = 'running'")


def _count(ended: list[Ended], now: datetime) -> list[tuple[str, str, bool]]:
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
            used.cache_write_5m + used.cache_write_1h, used.cache_read,
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
                taken = usage.input + usage.cache_write_5m + usage.cache_write_1h
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


def _calls(ended: list[Ended]) -> list[Finished]:
    """The calls that these attempts are parts of, each once."""
    return list({part.finished.call.number: part.finished for part in ended}.values())


def _measure(ended: list[Ended]) -> None:
    """Learn from calls that were answered: what estimates start from, and what is cached now."""
    sums: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0] * 6)
    warm: dict[tuple[int, str, str], tuple[Call, datetime]] = {}
    for one in _calls(ended):
        call, usage = one.call, one.reply.usage
        if usage is None or not usage.output:
            continue
        sent = sum(part.prompt_bytes for part in call.parts)
        size = work_of(call.version).shared_bytes + call.context_bytes + sent
        added = (1, len(call.parts), size, usage.prompt, usage.output,
                 round(one.reply.latency * 1000))  # fmt: skip
        totals = sums[call.version, call.mode]
        for index, value in enumerate(added):
            totals[index] += value
        if call.cache and (usage.cache_read or usage.cache_write_5m or usage.cache_write_1h):
            key = call.version, call.mode, call.salt
            if key not in warm or warm[key][1] < one.started_at:
                warm[key] = call, one.started_at
    for (version, mode), totals in sums.items():
        rows.execute(MEASURED, [version, mode, *totals])
    for call, began in warm.values():
        _warm(call, began)


def _warm(call: Call, used_at: datetime) -> None:
    """What `call` and its like share was written or read at `used_at`, and lives anew."""
    until = used_at + timedelta(seconds=LIFETIME_SECONDS[call.cache] - MARGIN_SECONDS)
    rows.execute(WARM, [call.version, call.mode, call.salt, until])


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
        "attempt=%s item=%s batch=%s model=%s mode=%s outcome=%s next=%s status=%s request=%s "
        "latency_ms=%s input=%s output=%s cache_write=%s cache_read=%s cost_usd=%s problem=%r",
        part.part.attempt, part.part.item, part.batch, call.model, call.mode,
        part.reply.outcome.value, part.decision.action.value, reply.status,
        reply.request_id or None, part.latency_ms, usage and usage.input, usage and usage.output,
        usage and usage.cache_write_5m + usage.cache_write_1h, usage and usage.cache_read,
        None if part.cost is None else f"{dollars(part.cost):f}", part.reply.problem[:120],
    )  # fmt: skip
