"""Attempts read from the database as the calls that they are."""

from collections.abc import Iterable

from batchboard.models import Attempt
from batchboard.money import units
from batchboard.pricing import Rates
from dispatch.calls import Call, Part

RELATED = ("batch", "item", "session", "price")
"""What a call is made of beside its attempt."""


def calls_of(attempts: Iterable[Attempt]) -> list[Call]:
    """The calls that these attempts are, with all of the items that share one."""
    by_call: dict[int, list[Attempt]] = {}
    for attempt in attempts:
        by_call.setdefault(attempt.call, []).append(attempt)
    return [_call_of(parts) for parts in by_call.values()]


def _call_of(attempts: list[Attempt]) -> Call:
    first, session = attempts[0], attempts[0].session
    assert first.worker_id is not None
    seconds: float = first.batch.item_timeout
    if session is not None:
        seconds = min(seconds, (session.ends_at - first.granted_at).total_seconds())
    return Call(
        number=first.call,
        worker=first.worker_id,
        batch=first.batch_id,
        public_id=first.batch.public_id,
        version=first.batch.version_id,
        model=first.model,
        mode=first.mode,
        max_tokens=first.max_tokens,
        timeout=seconds,
        rates=Rates.of_json(first.price.rates) if first.price else None,
        reserved=sum(units(attempt.reserved) for attempt in attempts),
        expected_input=sum(attempt.expected_input for attempt in attempts),
        expected_output=sum(attempt.expected_output for attempt in attempts),
        parts=[
            Part(one.pk, one.item_id, one.item.key, one.item.prompt_bytes, units(one.reserved))
            for one in attempts
        ],
        prime=first.prime,
        cache=first.cache,
        salt=first.batch.cache_salt,
        session=first.session_id,
        context_bytes=session.bytes if session else 0,
        last=session is not None and session.items + 1 >= session.most_items,
    )
