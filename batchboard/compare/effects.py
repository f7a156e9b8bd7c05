"""Where a change of cost comes from: the money of a task, taken apart."""

from dataclasses import dataclass

from batchboard.compare.data import ArmData
from batchboard.pricing import Usage


@dataclass(frozen=True)
class Effects:
    """Units of money that a task cost more (or less, negative) for each reason. They add up to the
    whole change.

    `failed` is attempts without a result; of the others `prompt` and `output` are more or fewer
    tokens at the prices before, `prices` other prices of a token, and `cache` what writing to and
    reading from the cache cost beyond sending the same tokens without it.
    """

    failed: float
    prompt: float
    output: float
    prices: float
    cache: float

    def largest(self, sign: int) -> str | None:
        """The name of the part that moved the cost most in the direction of `sign`."""
        parts = {name: value * sign for name, value in vars(self).items()}
        name = max(parts, key=lambda name: parts[name])
        return name if parts[name] > 0 else None


@dataclass(frozen=True)
class Task:
    """One task of an arm on average: tokens of attempts with a result, their money, the money of
    the others, and what a token costs without a cache."""

    prompt: float
    output: float
    prompt_money: float
    output_money: float
    failed: float
    input_rate: float | None
    output_rate: float | None

    @property
    def cache(self) -> float:
        """What the cache cost beyond sending the same tokens without it; negative: it saved."""
        return self.prompt_money - self.prompt * (self.input_rate or 0)


def effects(before: ArmData, after: ArmData) -> Effects | None:
    """None where nothing was measured to tell them apart."""
    one, other = average_task(before), average_task(after)
    if one is None or other is None:
        return None
    into, into_then = _both(one.input_rate, other.input_rate)
    out, out_then = _both(one.output_rate, other.output_rate)
    return Effects(
        failed=other.failed - one.failed,
        prompt=(other.prompt - one.prompt) * into,
        output=(other.output - one.output) * out,
        prices=other.prompt * (into_then - into) + other.output * (out_then - out),
        cache=(other.prompt_money - other.prompt * into_then)
        - (one.prompt_money - one.prompt * into),
    )


def average_task(arm: ArmData) -> Task | None:
    if not arm.succeeded or not total(arm.money):
        return None
    tasks = arm.succeeded
    prompt, output = arm.usage.prompt, arm.usage.output
    return Task(
        prompt=(prompt - arm.failed_usage.prompt) / tasks,
        output=(output - arm.failed_usage.output) / tasks,
        prompt_money=(arm.money.prompt - arm.failed_money.prompt) / tasks,
        output_money=(arm.money.output - arm.failed_money.output) / tasks,
        failed=(total(arm.failed_money) + arm.unknown) / tasks,
        input_rate=arm.money.input / arm.usage.input if arm.usage.input else None,
        output_rate=arm.money.output / output if output else None,
    )


def total(money: Usage) -> int:
    return money.prompt + money.output


def _both(before: float | None, after: float | None) -> tuple[float, float]:
    """A price that one of them never paid is taken to be that of the other."""
    found = before if before is not None else after or 0.0
    return found, after if after is not None else found
