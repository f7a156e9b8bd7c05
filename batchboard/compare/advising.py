"""What to do next, from what the comparison found."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from math import sqrt

from batchboard.compare import words
from batchboard.compare.data import Advice, ArmData, ArmResult, Verdict
from batchboard.compare.reasons import below_minimum, converses
from batchboard.money import dollars
from batchboard.wording import listed, many

READ_AT = Decimal("0.1")
"""What the provider asks for a token read from the cache, of the price of one sent, at the most."""

HALF = Decimal("0.5")
"""What the provider asks for a call in a batch of its own, of the price of any other."""

FASTER = 1.1
"""From so many times the tasks an hour on, an arm is worth taking for that alone."""

UNLIKE_ITEMS = 20
"""So many items are needed to say that they differ much."""

UNLIKE = 1.5
"""They do where their costs stray from the mean by so many times the mean."""


def advise(before: ArmData, results: Sequence[ArmResult], chosen: ArmResult) -> list[Advice]:
    found = list(_on_chosen(before, chosen))
    for one in results:
        if one is not chosen and one.verdict in {Verdict.NOT_BETTER, Verdict.WORSE}:
            found += _on_refused(before, one, chosen)
    found += _untried(before, results, chosen)
    return list(dict.fromkeys(found))


def _on_chosen(before: ArmData, chosen: ArmResult) -> Iterator[Advice]:
    label = chosen.data.label
    if chosen.verdict is Verdict.BETTER:
        yield Advice(
            "keep", f"Keep {label}.", "It is the cheapest that passes review as often as before."
        )
    elif chosen.verdict is Verdict.CHEAPER:
        yield _review(before, chosen)
    elif chosen.verdict is Verdict.UNDECIDED:
        yield from _more(chosen)
    elif chosen.verdict is Verdict.NO_DIFFERENCE:
        yield _either(before, chosen)
        yield from _causes(chosen)
    else:
        yield from _on_refused(before, chosen, None)


def _untried(before: ArmData, results: Sequence[ArmResult], chosen: ArmResult) -> Iterator[Advice]:
    """The provider's own batches, where they would cost less a task than what is to be kept."""
    arms = (before, *(one.data for one in results))
    single = next((arm for arm in arms if arm.mode == "single"), None)
    if single is None or any(arm.mode == "provider_batch" for arm in arms):
        return
    kept = chosen.data if chosen.verdict in {Verdict.BETTER, Verdict.CHEAPER} else before
    then, now = _per_task(single), _per_task(kept)
    if then is None or now is None or then * HALF >= now:
        return
    yield Advice(
        "untried",
        "Provider batch was not tried.",
        f"Half the price of single calls, and no slot of the cap: about {words.usd(then * HALF)} a"
        " task, where a day is soon enough.",
    )


def _per_task(arm: ArmData) -> Decimal | None:
    return None if arm.unpriced or not arm.succeeded else dollars(arm.cost) / arm.succeeded


def _review(before: ArmData, chosen: ArmResult) -> Advice:
    silent = [arm.label for arm in (before, chosen.data) if not arm.judged]
    if silent:
        return Advice(
            "review",
            f"Review results of {listed(silent)}.",
            "Until then nobody knows whether they are as good as they are cheap.",
        )
    return Advice("review", f"Look at more results of {chosen.data.label}.", chosen.quality)


def _more(chosen: ArmResult) -> Iterator[Advice]:
    if chosen.more_needed:
        items = many(chosen.more_needed, "more item", "more items")
        yield Advice(
            "more",
            f"Run about {items} each way.",
            "Until then the difference may be chance.",
        )


def _either(before: ArmData, chosen: ArmResult) -> Advice:
    now, then = chosen.tasks_per_hour, _per_hour(before)
    if now and then and max(now, then) >= FASTER * min(now, then):
        label = chosen.data.label if now > then else before.label
        return Advice(
            "faster",
            f"Take {label}: it is faster.",
            f"{max(now, then):,.0f} tasks an hour against {min(now, then):,.0f}.",
        )
    return Advice("keep", f"Keep {before.label}.", "A change would save nothing worth it.")


def _on_refused(before: ArmData, one: ArmResult, chosen: ArmResult | None) -> Iterator[Advice]:
    label = one.data.label
    if one.verdict is Verdict.NOT_BETTER:
        saves = _saves(before, one, chosen)
        lead = f"It saves {saves} a task, but " if saves else ""
        text = f"{lead}{_failures(before, one.data)}."
        yield Advice("avoid", f"Do not use {label}.", f"{text[0].upper()}{text[1:]}")
        if (one.data.group or 1) > 1:
            yield _smaller(one.data, "Fewer items in a call fail less.")
    else:
        yield Advice("avoid", f"Go back to {before.label}.", f"A task costs more with {label}.")
        yield from _causes(one)


def _saves(before: ArmData, one: ArmResult, chosen: ArmResult | None) -> str:
    """What it would save a task, against the arm to keep if there is one."""
    held = chosen.cost_per_task if chosen and chosen.verdict is Verdict.BETTER else None
    now = one.cost_per_task
    if now is None or one.change is None or not before.succeeded:
        return ""
    if held is not None:
        return f"another {words.usd(held.mid - now.mid)}" if held.mid > now.mid else ""
    then = dollars(before.cost) / before.succeeded
    return words.usd(then - now.mid) if then > now.mid else ""


def _failures(before: ArmData, after: ArmData) -> str:
    """What fails more, in counts where both were judged as often."""
    if (
        before.judged
        and after.judged
        and after.passed * before.judged < (before.passed * after.judged)
    ):
        failed, then = after.judged - after.passed, before.judged - before.passed
        if after.judged == before.judged:
            return f"{failed - then:,} more of {after.judged:,} failed review"
        return f"{failed:,} of {after.judged:,} failed review, before {then:,} of {before.judged:,}"
    return (
        f"{after.dead:,} of {after.items:,} items failed for good,"
        f" before {before.dead:,} of {before.items:,}"
    )


def _causes(one: ArmResult) -> Iterator[Advice]:
    """What would mend the cause of a cost that rose."""
    arm, kind = one.data, one.reason.kind if one.reason else ""
    if (kind == "below_minimum" or below_minimum(arm)) and arm.shared_tokens:
        yield _context(arm)
    if kind == "written_not_read":
        yield _lifetime(arm)
    if kind in {"conversation", "failed"} and (arm.group or 1) > 1:
        why = (
            "Each further item carries all before it."
            if kind == "conversation"
            else ("What is missing from an answer has to be sent again.")
        )
        yield _smaller(arm, why)
    elif kind == "failed":
        yield Advice(
            "failures",
            "Look at the failed attempts.",
            f"{arm.failed_attempts:,} of {arm.attempts:,} gave no result and were paid.",
        )
    strays = _strays(arm)
    if kind == "less_cached":
        yield Advice(
            "split",
            "Split the batch by type.",
            "Items that share a context read it from the cache when they run together.",
        )
    elif strays >= UNLIKE:
        yield Advice(
            "split",
            "Split the batch by type.",
            f"Items differ: their costs stray from the mean by {strays:.1f} times the mean, and"
            " what suits the dear ones does not suit the others.",
        )


def _context(arm: ArmData) -> Advice:
    shared, least = arm.shared_tokens or 0, arm.minimum_tokens or 0
    if least * READ_AT >= shared:
        return Advice(
            "context",
            "A longer context is not the answer.",
            f"Even read from the cache, {least:,} tokens cost no less than the {shared:,} sent"
            " now. Send several items in a call, or none shared.",
        )
    return Advice(
        "context",
        "Nothing can be cached as it is.",
        f"The model caches from {least:,} tokens on. Only examples that make answers better are"
        " worth adding; else choose a model that caches from fewer.",
    )


def _lifetime(arm: ArmData) -> Advice:
    if arm.usage.cache_write_1h >= arm.usage.cache_write_5m:
        return Advice(
            "longer_lifetime",
            "Send items closer together.",
            "Cache entries ran out unread although they live for an hour.",
        )
    return Advice(
        "longer_lifetime",
        "Let cache entries live longer.",
        "They ran out before they were read: keep them for an hour, or send items closer together.",
    )


def _smaller(arm: ArmData, why: str) -> Advice:
    half = max(1, (arm.group or 2) // 2)
    if converses(arm):
        return Advice("smaller_group", "Make conversations shorter.", f"{why} Try {half} items.")
    if half == 1:
        return Advice("smaller_group", "Put one item in a call.", why)
    return Advice("smaller_group", "Put fewer items in a call.", f"{why} Try {half}.")


def _strays(arm: ArmData) -> float:
    """The standard deviation of the costs of its items, over their mean."""
    costs = arm.costs.all
    if costs.count < UNLIKE_ITEMS or not costs.total:
        return 0.0
    return sqrt(costs.strayed / (costs.count - 1)) / costs.mean


def _per_hour(arm: ArmData) -> float | None:
    return arm.succeeded / arm.seconds * 3_600 if arm.seconds else None
