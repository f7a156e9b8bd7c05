"""What the provider charges, and from how many tokens on it caches a prompt."""

from dataclasses import dataclass
from decimal import Decimal

from .usage import Usage

MILLION = Decimal(1_000_000)
HAIKU_TIER_TOKENS = 100_000
BATCH_SHARE = Decimal("0.5")
US_ONLY_SHARE = Decimal("1.1")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens of each kind."""

    input: Decimal
    output: Decimal
    write_5m: Decimal
    write_1h: Decimal
    read: Decimal


@dataclass(frozen=True, slots=True)
class Model:
    price: Price
    min_cacheable: int
    long_prompt_price: Price | None = None


def _price(values: str) -> Price:
    return Price(*map(Decimal, values.split()))


_OPUS = _price("5 25 6.25 10 0.50")
_SONNET_4 = _price("3 15 3.75 6 0.30")
_HAIKU_45 = Model(_price("1 5 1.25 2 0.10"), 4096)
_HAIKU_55_LONG = _price("0.50 2.50 0.625 1.00 0.05")

# The minimum of the 5.2 models is not published; the one of their neighbours is assumed.
MODELS = {
    "claude-fable-5-2": Model(_price("8 40 10 16 0.20"), 512),
    "claude-mythos-5-2": Model(_price("8 40 10 16 0.20"), 512),
    "claude-fable-5-1": Model(_price("10 50 12.5 20 0.25"), 512),
    "claude-opus-5-5": Model(_price("4 20 5 8 0.20"), 512),
    "claude-opus-5": Model(_OPUS, 512),
    "claude-opus-4-8": Model(_OPUS, 1024),
    "claude-opus-4-7": Model(_OPUS, 2048),
    "claude-opus-4-6": Model(_OPUS, 4096),
    "claude-opus-4-5": Model(_OPUS, 4096),
    "claude-opus-4-5-20251101": Model(_OPUS, 4096),
    "claude-sonnet-5-5": Model(_price("2 10 2.5 4 0.10"), 512),
    "claude-sonnet-5": Model(_price("2 10 2.5 4 0.20"), 1024),
    "claude-sonnet-4-6": Model(_SONNET_4, 1024),
    "claude-sonnet-4-5": Model(_SONNET_4, 1024),
    "claude-sonnet-4-5-20250929": Model(_SONNET_4, 1024),
    "claude-haiku-5-5": Model(_price("0.10 0.50 0.125 0.20 0.01"), 512, _HAIKU_55_LONG),
    "claude-haiku-4-5": _HAIKU_45,
    "claude-haiku-4-5-20251001": _HAIKU_45,
}


def cost(model: str, usage: Usage, *, batch: bool = False, us_only: bool = False) -> Decimal:
    """The charge for one answered call, in US dollars, unrounded."""
    price = _applicable(MODELS[model], usage)
    dollars = (
        usage.input * price.input
        + usage.output * price.output
        + usage.write_5m * price.write_5m
        + usage.write_1h * price.write_1h
        + usage.read * price.read
    ) / MILLION
    if batch:
        dollars *= BATCH_SHARE
    if us_only:
        dollars *= US_ONLY_SHARE
    return dollars


def _applicable(model: Model, usage: Usage) -> Price:
    """A prompt over the threshold reprices the whole request, its output included."""
    if model.long_prompt_price is not None and usage.prompt > HAIKU_TIER_TOKENS:
        return model.long_prompt_price
    return model.price
