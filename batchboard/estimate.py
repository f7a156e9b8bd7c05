"""What a batch will cost, how long it will take, and which limit binds; arithmetic alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from batchboard.call_shapes import SHAPES, Calls, Pile
from batchboard.money import dollars
from batchboard.pricing import Rates

TOKENS_PER_BYTE = 0.3
"""English prose, code and JSON lie between 0.22 and 0.32 tokens a byte."""

OUTPUT_SHARE = 0.4
"""Of max_tokens, where nothing was measured yet."""

TOKENS_PER_SECOND = 70.0
FIRST_TOKEN_SECONDS = 0.8
PROVIDER_BATCH = "provider_batch"
PROVIDER_SECONDS = 3600.0
"""A message batch usually ends within an hour; after 24 it ends in any case."""

RECOMMENDED_SHARE = 0.7
"""The number in flight that uses this share of what the request and token limits allow: the middle
of 60 to 80 %, which leaves room for calls that are faster than the mean."""


@dataclass(frozen=True)
class Work:
    """What is to be sent: bytes of the shared context, and how many items have a prompt of how
    many bytes. `shared_tokens` and `tokens_per_byte` are None where nothing was counted.

    `mode` says how items become calls, `group` how many share one, `cache` how long the shared
    context is kept in the provider's cache ("" for not at all), and `minimum` the tokens from
    which the model caches anything. `output_tokens` are an item's, `latency` is a call's.
    """

    sizes: Mapping[int, int]
    shared_bytes: int
    max_tokens: int
    shared_tokens: int | None = None
    tokens_per_byte: float | None = None
    output_tokens: float | None = None
    latency: float | None = None
    cache: str = ""
    mode: str = "single"
    group: int = 1
    minimum: int = 0

    @property
    def items(self) -> int:
        return sum(self.sizes.values())

    @property
    def most_at_once(self) -> int:
        """Calls that can be in flight together: turns of a conversation follow each other."""
        return -(-self.items // self.group)


@dataclass(frozen=True)
class Allowed:
    """The limits in force: calls in flight, and per minute requests, input and output tokens;
    `money` is the dollars that are left, None where nothing limits them."""

    cap: int
    rpm: float
    itpm: float
    otpm: float
    money: Decimal | None = None


@dataclass(frozen=True)
class Estimate:
    """Dollars (None where no price is known), seconds and tokens; `basis` says where the numbers
    come from. `latency` is that of one call, `seconds_at_best` what the rate limits take however
    many are in flight, and `full_concurrency` the number in flight that would use all that they
    allow."""

    expected: Decimal | None
    worst: Decimal | None
    seconds: float
    binding_limit: str
    recommended_concurrency: int
    input_tokens: int
    output_tokens: int
    basis: str
    latency: float = 0.0
    seconds_at_best: float = 0.0
    full_concurrency: float = 0.0


def estimate(work: Work, rates: Rates | None, allowed: Allowed, overhead_tokens: int) -> Estimate:
    """Expected and worst case of one try for each item.

    The worst case counts a byte as a token, which no tokenizer exceeds, and every answer at
    max_tokens: it is what admission reserves.
    """
    ratio = work.tokens_per_byte or TOKENS_PER_BYTE
    shared = work.shared_tokens
    if shared is None:
        shared = round(work.shared_bytes * ratio)
    out_each = work.output_tokens
    if out_each is None:
        out_each = work.max_tokens * OUTPUT_SHARE
    pile = Pile(
        work.sizes, ratio, shared, work.shared_bytes, round(out_each), work.max_tokens,
        work.cache, work.minimum, work.group,
    )  # fmt: skip
    calls = SHAPES[work.mode](pile)
    expected = worst = None
    if rates is not None:
        expected = dollars(sum(one.count * rates.cost(one.usage) for one in calls))
        worst = dollars(_worst(work, calls, rates, overhead_tokens))
    total = _Total(calls)
    batched = work.mode == PROVIDER_BATCH
    latency = work.latency
    if latency is None:
        latency = FIRST_TOKEN_SECONDS + total.output_each / TOKENS_PER_SECOND
        latency = PROVIDER_SECONDS if batched else latency
    at_once = min(allowed.cap, work.most_at_once)
    seconds, binds = _time(total, latency, at_once, allowed)
    if batched:
        seconds, binds = latency, "provider"
    if allowed.money is not None and expected is not None and expected > allowed.money:
        binds = "money"
    # What waits for the provider gains nothing from more at once.
    per_second = 0.0 if batched else _per_second(total, allowed)
    return Estimate(
        expected=expected,
        worst=worst,
        seconds=round(seconds, 1),
        binding_limit=binds,
        recommended_concurrency=(
            work.items if batched else _recommended(per_second * latency, at_once)
        ),
        input_tokens=total.prompt,
        output_tokens=total.output,
        basis=_basis(work),
        latency=latency,
        seconds_at_best=(0.0 if batched else _time(total, 0.0, at_once, allowed)[0]) + latency,
        full_concurrency=per_second * latency,
    )


class _Total:
    """Sums over all calls; `counted` are the input tokens that count against a limit."""

    def __init__(self, calls: list[Calls]) -> None:
        self.calls = sum(one.count for one in calls)
        self.prompt = sum(one.count * one.usage.prompt for one in calls)
        self.counted = self.prompt - sum(one.count * one.usage.cache_read for one in calls)
        self.output = sum(one.count * one.usage.output for one in calls)

    @property
    def counted_each(self) -> float:
        return self.counted / max(1, self.calls)

    @property
    def output_each(self) -> float:
        return self.output / max(1, self.calls)


def _worst(work: Work, calls: list[Calls], rates: Rates, overhead_tokens: int) -> int:
    caches = work.cache or ("5m" if work.mode == "session" else "")
    return sum(
        one.count * rates.worst(one.bound + overhead_tokens, one.max_tokens, cache=caches)
        for one in calls
    )


def _time(total: _Total, latency: float, at_once: int, allowed: Allowed) -> tuple[float, str]:
    """Seconds, and the limit that makes it so many."""
    by_limit = {
        "cap": total.calls * latency / max(1, at_once),
        "rpm": total.calls * 60 / allowed.rpm,
        "itpm": total.counted * 60 / allowed.itpm,
        "otpm": total.output * 60 / allowed.otpm,
    }
    binds = max(by_limit, key=lambda name: by_limit[name])
    return by_limit[binds] + (0 if binds == "cap" else latency), binds


def _recommended(full: float, at_once: int) -> int:
    return max(1, min(at_once, round(full * RECOMMENDED_SHARE)))


def _per_second(total: _Total, allowed: Allowed) -> float:
    """Calls that the rate limits let through in a second."""
    return min(
        allowed.rpm / 60,
        allowed.itpm / 60 / max(1.0, total.counted_each),
        allowed.otpm / 60 / max(1.0, total.output_each),
    )


def _basis(work: Work) -> str:
    tokens_in = "counted by the provider" if work.tokens_per_byte else "estimated from length"
    said = f"input {tokens_in}; output as this task type measured before"
    if work.output_tokens is None:
        said = f"input {tokens_in}; output assumed at {OUTPUT_SHARE:.0%} of max_tokens"
    if work.mode == PROVIDER_BATCH:
        said += "; at half the price; the provider usually takes under an hour, and up to 24 h"
    return said
