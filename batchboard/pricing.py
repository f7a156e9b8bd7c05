"""What tokens cost: rates by model and date, and exact cost in whole units of money.

Rates come from `genai-prices`, which carries the provider's price list with the dates from which
each price holds. Its own arithmetic is not used: it counts cache tokens inside the input tokens,
while the provider reports them beside it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from genai_prices.data_snapshot import get_snapshot

from batchboard.money import UNITS_PER_DOLLAR

PROVIDER = "anthropic"
KINDS = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read")
PER_MILLION = UNITS_PER_DOLLAR // 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call by kind, as the provider reports them: no kind holds another."""

    input: int = 0
    output: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_read: int = 0

    @property
    def prompt(self) -> int:
        """Every token of the prompt, cached or not."""
        return self.input + self.cache_write + self.cache_read

    @property
    def cache_write(self) -> int:
        """Written to the cache, to be kept for however long."""
        return self.cache_write_5m + self.cache_write_1h

    @property
    def by_kind(self) -> tuple[int, int, int, int, int]:
        """In the order of the kinds."""
        return (
            self.input, self.output, self.cache_write_5m, self.cache_write_1h, self.cache_read
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rates:
    """Whole units of money (10⁻¹⁰ dollars) per token, by kind; `above` a prompt of so many tokens
    another set holds, for the whole request."""

    input: int
    output: int
    cache_write_5m: int
    cache_write_1h: int
    cache_read: int
    above: int | None = None
    then: "Rates | None" = None

    def applied(self, usage: Usage) -> "Rates":
        """The rates that hold for a call with this usage, whatever its size."""
        if self.then is not None and self.above is not None and usage.prompt > self.above:
            return self.then
        return replace(self, above=None, then=None)

    def cost(self, usage: Usage) -> int:
        """Units that a call with this usage costs."""
        rates = self.applied(usage)
        return (
            usage.input * rates.input
            + usage.output * rates.output
            + usage.cache_write_5m * rates.cache_write_5m
            + usage.cache_write_1h * rates.cache_write_1h
            + usage.cache_read * rates.cache_read
        )

    def write(self, cache: str) -> int:
        """Units per token written to the cache under the mark `cache`, "5m" or "1h"."""
        return self.cache_write_1h if cache == "1h" else self.cache_write_5m

    def worst(self, prompt_tokens: int, output_tokens: int, *, cache: str = "") -> int:
        """Units that a call costs at the most: no token is read from a cache, and with `cache`
        each is written to one."""
        rate = max(self.input, self.write(cache)) if cache else self.input
        plain = prompt_tokens * rate + output_tokens * self.output
        if self.then is None:
            return plain
        above = self.then.worst(prompt_tokens, output_tokens, cache=cache)
        return above if self.above is not None and prompt_tokens > self.above else plain

    def halved(self) -> "Rates":
        """What the same tokens cost in a message batch of the provider."""
        half = {kind: -(-getattr(self, kind) // 2) for kind in KINDS}
        return replace(self, **half, then=None if self.then is None else self.then.halved())

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> "Rates":
        """What `as_json` gave."""
        then = stored.get("then")
        return cls(**{**stored, "then": None if then is None else cls.of_json(then)})

    @classmethod
    def per_million(cls, prices: Mapping[str, Decimal | None]) -> "Rates":
        """Rates from dollars per million tokens by kind. `input` and `output` are given; a cache
        kind without a price follows the provider's usual factors. Raises ValueError where a price
        is finer than money is kept."""
        return _complete([_per_token(prices[kind], 0) for kind in KINDS])


def dollars_per_million(rate: int) -> Decimal:
    """A rate as price lists say it."""
    return Decimal(rate) / PER_MILLION


def rates(model: str, at: datetime) -> Rates | None:
    """The rates of `model` at a moment, or None where no price of it is known."""
    return _rates(model, at.replace(minute=0, second=0, microsecond=0))


def knows(model: str) -> bool:
    """Whether a price of `model` is known, and so the model itself."""
    try:
        get_snapshot().find_provider_model(model, None, PROVIDER, None)
    except LookupError:
        return False
    return True


def known_models() -> list[str]:
    """Names of the models that have a price."""
    provider = next(p for p in get_snapshot().providers if p.id == PROVIDER)
    return [model.id for model in provider.models]


def source() -> str:
    """Where the rates come from, for the record."""
    return f"genai-prices {version('genai-prices')}"


@lru_cache(maxsize=256)
def _rates(model: str, hour: datetime) -> Rates | None:
    try:
        _, info = get_snapshot().find_provider_model(model, None, PROVIDER, None)
    except LookupError:
        return None
    prices = info.get_prices(hour)
    listed = [
        getattr(prices, name, None)
        for name in (
            "input_mtok",
            "output_mtok",
            "cache_write_mtok",
            "cache_write_1h_mtok",
            "cache_read_mtok",
        )
    ]
    if listed[0] is None or listed[1] is None:
        return None
    starts = {tier.start for price in listed for tier in getattr(price, "tiers", [])}
    base = _complete([_per_token(price, 0) for price in listed])
    if not starts:
        return base
    above = min(starts)
    then = _complete([_per_token(price, above + 1) for price in listed])
    return Rates(
        base.input,
        base.output,
        base.cache_write_5m,
        base.cache_write_1h,
        base.cache_read,
        above,
        then,
    )


def _per_token(price: Any, prompt_tokens: int) -> int | None:
    if price is None:
        return None
    amount: Decimal = getattr(price, "base", price)
    for tier in getattr(price, "tiers", []):
        if prompt_tokens > tier.start:
            amount = tier.price
    exact = Decimal(amount) * PER_MILLION
    if exact != int(exact):
        raise ValueError(f"A price of {amount} per million tokens is finer than money is kept.")
    return int(exact)


def _complete(found: list[int | None]) -> Rates:
    """Fill kinds without a listed price as the provider does: writes 1.25 and 2 times the input,
    reads a tenth of it."""
    base = found[0] or 0
    fallback = [base, 0, base * 5 // 4, base * 2, base // 10]
    into, out, short, long, read = (
        other if price is None else price for price, other in zip(found, fallback, strict=True)
    )
    return Rates(into, out, short, long, read)
