"""What is learnt from calls that were answered: the sizes that estimates and admission start from,
and what the provider's cache holds now."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from batchboard import rows
from dispatch.calls import Call
from dispatch.ended import Ended, calls_among
from dispatch.modes.cached import LIFETIME_SECONDS, MARGIN_SECONDS
from dispatch.versions import work_of

WARM = (
    "INSERT INTO batchboard_warmcache (version_id, mode, salt, warm_until) VALUES (%s, %s, %s, %s)"
    " ON CONFLICT (version_id, mode, salt) DO UPDATE SET warm_until = excluded.warm_until"
    " WHERE batchboard_warmcache.warm_until < excluded.warm_until"
)
MEASURED = (
    "INSERT INTO batchboard_measured AS m (version_id, mode, calls, items, bytes, input_tokens,"
    " output_tokens, latency_ms) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
    " ON CONFLICT (version_id, mode) DO UPDATE SET calls = m.calls + excluded.calls,"
    " items = m.items + excluded.items, bytes = m.bytes + excluded.bytes,"
    " input_tokens = m.input_tokens + excluded.input_tokens,"
    " output_tokens = m.output_tokens + excluded.output_tokens,"
    " latency_ms = m.latency_ms + excluded.latency_ms"
)


def learn(ended: Sequence[Ended]) -> None:
    """Learn from calls that were answered: what estimates start from, and what is cached now."""
    sums: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0] * 6)
    cached: dict[tuple[int, str, str], tuple[Call, datetime]] = {}
    for one in calls_among(ended):
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
            if key not in cached or cached[key][1] < one.started_at:
                cached[key] = call, one.started_at
    for (version, mode), totals in sums.items():
        rows.execute(MEASURED, [version, mode, *totals])
    for call, began in cached.values():
        warm(call, began)


def warm(call: Call, used_at: datetime) -> None:
    """What `call` and its like share was written or read at `used_at`, and lives anew."""
    until = used_at + timedelta(seconds=LIFETIME_SECONDS[call.cache] - MARGIN_SECONDS)
    rows.execute(WARM, [call.version, call.mode, call.salt, until])
