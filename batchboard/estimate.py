"""What a batch will cost, how long it will take, and which limit binds; arithmetic alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from batchboard.money import dollars
from batchboard.pricing import Rates, Usage

TOKENS_PER_BYTE = 0.3
"""English prose, code and JSON lie between 0.22 and 0.32 tokens a byte."""

OUTPUT_SHARE = 0.4
"""Of max_tokens, where nothing was measured yet."""

TOKENS_PER_SECOND = 70.0
FIRST_TOKEN_SECONDS = 0.8
RECOMMENDED_SHARE = 0.7
"""The number in flight that uses this share of what the request and token limits allow: the middle
of 60 to 80 %, which leaves room for calls that are faster than the mean."""


@dataclass(frozen=True)
class Work:
    """What is to be sent: bytes of the shared context, and how many items have a prompt of how
    many bytes. `shared_tokens` and `tokens_per_byte` are None where nothing was counted."""

    sizes: Mapping[int, int]
    shared_bytes: int
    max_tokens: int
    shared_tokens: int | None = None
    tokens_per_byte: float | None = None
    output_tokens: float | None = None
    latency: float | None = None
    caches: bool = False

    @property
    def items(self) -> int:
        return sum(self.sizes.values())


@dataclass(frozen=True)
class Allowed:
    """The limits in force: calls in flight, and per minute requests, input and output tokens."""

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
    items = work.items
    ratio = work.tokens_per_byte or TOKENS_PER_BYTE
    shared = work.shared_tokens
    if shared is None:
        shared = round(work.shared_bytes * ratio)
    out_each = work.output_tokens
    if out_each is None:
        out_each = work.max_tokens * OUTPUT_SHARE
    prompts = round(sum(size * n for size, n in work.sizes.items()) * ratio)
    expected = worst = None
    if rates is not None:
        expected = dollars(_expected(work, rates, shared, ratio, round(out_each)))
        worst = dollars(_worst(work, rates, overhead_tokens))
    counted = prompts + (shared if work.caches else shared * items)
    latency = work.latency or FIRST_TOKEN_SECONDS + out_each / TOKENS_PER_SECOND
    seconds, binds = _time(items, counted, out_each * items, latency, allowed)
    if allowed.money is not None and expected is not None and expected > allowed.money:
        binds = "money"
    return Estimate(
        expected=expected,
        worst=worst,
        seconds=round(seconds, 1),
        binding_limit=binds,
        recommended_concurrency=_recommended(items, counted, out_each, latency, allowed),
        input_tokens=prompts + shared * items,
        output_tokens=round(out_each * items),
        basis=_basis(work),
        latency=latency,
        seconds_at_best=_time(items, counted, out_each * items, 0.0, allowed)[0] + latency,
        full_concurrency=_per_second(items, counted, out_each, allowed) * latency,
    )


def _expected(work: Work, rates: Rates, shared: int, ratio: float, output: int) -> int:
    total = 0
    for size, n in work.sizes.items():
        prompt = round(size * ratio)
        if work.caches:
            total += n * rates.cost(Usage(input=prompt, output=output, cache_read=shared))
        else:
            total += n * rates.cost(Usage(input=shared + prompt, output=output))
    if work.caches and work.sizes:
        total += shared * (rates.cache_write_5m - rates.cache_read)
    return total


def _worst(work: Work, rates: Rates, overhead_tokens: int) -> int:
    return sum(
        n * rates.worst(
            work.shared_bytes + size + overhead_tokens, work.max_tokens, writes_cache=work.caches
        )
        for size, n in work.sizes.items()
    )  # fmt: skip


def _time(
    items: int, input_tokens: float, output_tokens: float, latency: float, allowed: Allowed
) -> tuple[float, str]:
    """Seconds, and the limit that makes it so many."""
    cap = min(allowed.cap, items) or 1
    by_limit = {
        "cap": items * latency / cap,
        "rpm": items * 60 / allowed.rpm,
        "itpm": input_tokens * 60 / allowed.itpm,
        "otpm": output_tokens * 60 / allowed.otpm,
    }
    binds = max(by_limit, key=lambda name: by_limit[name])
    return by_limit[binds] + (0 if binds == "cap" else latency), binds


def _recommended(
    items: int, input_tokens: float, output_each: float, latency: float, allowed: Allowed
) -> int:
    if not items:
        return 1
    per_second = _per_second(items, input_tokens, output_each, allowed)
    return max(1, min(items, allowed.cap, round(per_second * latency * RECOMMENDED_SHARE)))


def _per_second(items: int, input_tokens: float, output_each: float, allowed: Allowed) -> float:
    """Calls that the rate limits let through in a second."""
    return min(
        allowed.rpm / 60,
        allowed.itpm / 60 / max(1.0, input_tokens / max(1, items)),
        allowed.otpm / 60 / max(1.0, output_each),
    )


def _basis(work: Work) -> str:
    tokens_in = "counted by the provider" if work.tokens_per_byte else "estimated from length"
    if work.output_tokens is None:
        return f"input {tokens_in}; output assumed at {OUTPUT_SHARE:.0%} of max_tokens"
    return f"input {tokens_in}; output as this task type measured before"
