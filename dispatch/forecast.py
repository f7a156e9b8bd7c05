"""Estimates before a run: what the provider counts, what this task type measured, arithmetic."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from batchboard.estimate import Allowed, Estimate, Work, estimate
from batchboard.models import Limits, Measured, Mode, ModelLimit, RunOptions, TaskVersion
from batchboard.models.prices import applied
from batchboard.task_definition import TaskDefinition, shared_bytes
from dispatch.modes import MODES
from dispatch.modes.cached import lifetime, minimum_tokens
from dispatch.modes.provider_batch import LIFETIME
from dispatch.modes.single import Single
from dispatch.modes.work import ItemWork, VersionWork
from dispatch.provider import count_tokens, make_client
from dispatch.purse import OVERHEAD_TOKENS

log = logging.getLogger(__name__)
SAMPLE = 3


@dataclass(frozen=True)
class Counted:
    """What the provider counted: tokens of the shared context, and of a few whole requests of so
    many bytes. All None or 0 where it could not be asked."""

    shared_tokens: int | None = None
    bytes: int = 0
    tokens: int = 0


def count(work: VersionWork, rows: Sequence[Mapping[str, Any]]) -> Counted:
    """Ask the provider to count the shared context and a few rows. Never raises: an estimate
    without counts is still an estimate, and says so."""
    try:
        return asyncio.run(_count(work, rows[:SAMPLE]))
    except Exception as error:
        log.info("the provider counted nothing: %s", error)
        return Counted()


def forecast(
    work: VersionWork,
    sizes: Counter[int],
    options: RunOptions,
    limits: Limits,
    counted: Counted,
    version: TaskVersion | None = None,
) -> Estimate:
    """The estimate for items of `sizes` (bytes of prompt → how many) under these options."""
    seen = _seen(version, options.mode)
    seen_bytes, seen_tokens = counted.bytes + seen.bytes, counted.tokens + seen.input_tokens
    headroom = limits.configured("headroom")
    model = ModelLimit.objects.filter(pk=work.model).first() or ModelLimit(pk=work.model)
    now = timezone.now()
    price = applied(work.model, now)
    if price is not None and MODES[options.mode].submits:
        price = price.halved()
    ceiling = limits.configured("budget")
    money = [
        left
        for left in (options.budget, None if ceiling is None else ceiling - limits.spent(now))
        if left is not None
    ]
    return estimate(
        Work(
            sizes=sizes,
            shared_bytes=work.shared_bytes,
            max_tokens=work.max_tokens,
            shared_tokens=work.shared_tokens,
            tokens_per_byte=seen_tokens / seen_bytes if seen_bytes else None,
            output_tokens=seen.output_tokens / seen.items if seen.items else None,
            latency=seen.latency_ms / seen.calls / 1000 if seen.calls else None,
            cache=_cache(work, options, sum(sizes.values())),
            mode=options.mode,
            group=options.group,
            minimum=minimum_tokens(work.model),
        ),
        None if price is None else price.rates,
        Allowed(
            cap=_at_once(options, limits, sum(sizes.values())),
            rpm=model.allowed("rpm", limits) * headroom,
            itpm=model.allowed("itpm", limits) * headroom,
            otpm=model.allowed("otpm", limits) * headroom,
            money=min(money) if money else None,
        ),
        OVERHEAD_TOKENS,
    )


def _at_once(options: RunOptions, limits: Limits, items: int) -> int:
    if MODES[options.mode].submits:
        return options.concurrency or max(1, items)
    return min(limits.cap_in_force, options.concurrency or limits.cap)


def _cache(work: VersionWork, options: RunOptions, items: int) -> str:
    """How long the shared context would be kept, as admission decides it."""
    mode = MODES[options.mode]
    if items <= options.group or not mode.caches(work):
        return ""
    if mode.submits:
        return LIFETIME
    return lifetime(0.0, looks=options.first_look)


def _seen(version: TaskVersion | None, mode: str) -> Measured:
    """What this version measured in this mode; else what holds in any: the tokens of an item, but
    not how long a call takes that serves several."""
    rows = [] if version is None else list(Measured.objects.filter(version=version))
    for row in rows:
        if row.mode == mode:
            return row
    found = Measured()
    for row in rows:
        for name in ("items", "bytes", "input_tokens", "output_tokens"):
            setattr(found, name, getattr(found, name) + getattr(row, name))
        if not {Mode.PACKED, Mode.PROVIDER_BATCH} & {mode, row.mode}:
            found.calls += row.calls
            found.latency_ms += row.latency_ms
    return found


def draft_work(definition: TaskDefinition, shared_tokens: int | None = None) -> VersionWork:
    """A definition as calls would need it, before any version of it is stored."""
    return VersionWork(
        id=0,
        model=definition.model,
        system=definition.system,
        prompt=definition.prompt,
        max_tokens=definition.max_tokens,
        schema=definition.contract,
        shared_tokens=shared_tokens,
        shared_bytes=shared_bytes(definition.system, definition.contract),
    )


async def _count(work: VersionWork, rows: Sequence[Mapping[str, Any]]) -> Counted:
    async with make_client() as client:
        requests = [
            Single().request(work, [ItemWork("", dict(row))], work.max_tokens) for row in rows
        ]
        empty = {"model": work.model, "messages": [{"role": "user", "content": "."}]}
        shared = empty | {k: v for k, v in requests[0].items() if k in {"system", "output_config"}}
        totals = await asyncio.gather(
            count_tokens(client, empty),
            count_tokens(client, shared),
            *(count_tokens(client, request) for request in requests),
        )
        weight = sum(
            work.shared_bytes + len(request["messages"][0]["content"].encode())
            for request in requests
        )
        return Counted(totals[1] - totals[0], weight, sum(totals[2:]))
