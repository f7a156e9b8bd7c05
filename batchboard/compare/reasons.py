"""Why the cost of a task fell or rose, in words, from which money changed most."""

from batchboard.compare.data import ArmData, Reason
from batchboard.compare.effects import Task, average_task, effects, total
from batchboard.compare.words import percent, tokens

A_CALL_EACH = 0.9
"""With so many calls an attempt, items have calls of their own."""


def reason(before: ArmData, after: ArmData, sign: int) -> Reason | None:
    """Why the cost of a task changed in the direction of `sign`; None where nothing tells."""
    parts = effects(before, after)
    one, other = average_task(before), average_task(after)
    name = parts.largest(sign) if parts else None
    if name is None or one is None or other is None:
        return None
    if name == "failed":
        return _failed(before, after)
    if name == "output":
        return Reason(
            "output",
            f"answers took {tokens(other.output)} tokens a task instead of {tokens(one.output)}",
        )
    if name == "prompt":
        return _prompt(after, one, other)
    if name == "prices":
        return _prices(before, after, one, other)
    return _cache_fell(before, after) if sign < 0 else _cache_rose(before, after, other)


def nothing_cached(arm: ArmData) -> str:
    """That the shared context was to be cached and is too short, as a clause; else nothing."""
    if not below_minimum(arm):
        return ""
    return (
        f"the shared context has {arm.shared_tokens:,} tokens, below the model's minimum of"
        f" {arm.minimum_tokens:,}, so nothing was cached"
    )


def below_minimum(arm: ArmData) -> bool:
    if arm.shared_tokens is None or arm.minimum_tokens is None:
        return False
    untouched = not arm.usage.cache_read and not arm.usage.cache_write
    return untouched and 0 < arm.shared_tokens < arm.minimum_tokens


def converses(arm: ArmData) -> bool:
    """Whether items share a conversation, and not a call."""
    return (arm.group or 1) > 1 and arm.calls >= A_CALL_EACH * arm.attempts


def cache_share(arm: ArmData) -> float | None:
    """Of all tokens of prompts, those read from the cache."""
    return arm.usage.cache_read / arm.usage.prompt if arm.usage.prompt else None


def failed_share(arm: ArmData) -> float:
    """Of all money, what went into attempts without a result."""
    spent = total(arm.money) + arm.unknown
    return (total(arm.failed_money) + arm.unknown) / spent if spent else 0.0


def _failed(before: ArmData, after: ArmData) -> Reason:
    text = (
        f"failed and regenerated attempts took {percent(failed_share(after))} of the money"
        f" instead of {percent(failed_share(before))}"
    )
    if (after.group or 1) > 1 and not converses(after):
        text += (
            f", with {after.group} items in a call"
            f" {after.failed_attempts:,} of {after.attempts:,} attempts"
        )
    return Reason("failed", text)


def _prompt(after: ArmData, one: Task, other: Task) -> Reason:
    text = f"a task took {tokens(other.prompt)} input tokens instead of {tokens(one.prompt)}"
    if other.prompt > one.prompt and converses(after):
        return Reason("conversation", f"{text}, as each call carries the conversation before it")
    return Reason("prompt", text)


def _prices(before: ArmData, after: ArmData, one: Task, other: Task) -> Reason:
    then = one.prompt_money + one.output_money
    at_new = other.prompt * (other.input_rate or 0) + other.output * (other.output_rate or 0)
    at_old = other.prompt * (one.input_rate or 0) + other.output * (one.output_rate or 0)
    moved = at_new / at_old - 1 if at_old and then else 0.0
    size = f"{percent(abs(moved))} {'less' if moved < 0 else 'more'}"
    if after.model != before.model:
        return Reason("prices", f"a token of {after.model} costs {size} than of {before.model}")
    return Reason("prices", f"a token cost {size}")


def _cache_fell(before: ArmData, after: ArmData) -> Reason:
    now, then = cache_share(after) or 0.0, cache_share(before) or 0.0
    if now > then:
        return Reason("cache_used", f"{percent(now)} of input tokens came from the cache")
    return Reason("cache_used", "less was written to the cache that nothing read")


def _cache_rose(before: ArmData, after: ArmData, other: Task) -> Reason:
    if other.cache > 0:
        wrote, read = after.usage.cache_write, after.usage.cache_read
        if wrote > read:
            each = after.succeeded
            return Reason(
                "written_not_read",
                f"more was written to the cache than read from it ({tokens(wrote / each)} and"
                f" {tokens(read / each)} tokens a task)",
            )
        return Reason("cache_dear", "writing to the cache cost more than reading from it saved")
    if below_minimum(after):
        return Reason("below_minimum", nothing_cached(after))
    now, then = cache_share(after) or 0.0, cache_share(before) or 0.0
    return Reason(
        "less_cached",
        f"{percent(now)} of input tokens came from the cache instead of {percent(then)}",
    )
