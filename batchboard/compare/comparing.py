"""Holds arms against the first of them."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from batchboard.compare import words
from batchboard.compare.advising import advise
from batchboard.compare.change import Change, cost_per_task, measure_change
from batchboard.compare.data import ArmData, ArmResult, Comparison, Interval, Verdict
from batchboard.compare.pairing import Pairing, PairSums
from batchboard.compare.quality import quality
from batchboard.compare.reasons import cache_share
from batchboard.compare.verdict import judge
from batchboard.money import dollars
from batchboard.wording import many

CONFIDENCE = 0.95
SECONDS_PER_HOUR = 3_600
UNIT = Decimal("1e-10")
TONES = {
    Verdict.BETTER: "ok",
    Verdict.WORSE: "dead",
    Verdict.NOT_BETTER: "person",
}


def compare(arms: Sequence[ArmData], *, paired: bool | Pairing) -> Comparison:
    """Compare every arm with the first, "before".

    `paired` says that the arms did the same items: those with the same key are compared with each
    other. It may be the stored sums of their pairs, and the arms then need no tasks. With several
    arms the intervals of change are widened to hold together in 95 % of cases (Bonferroni), so
    that trying more ways does not by itself find one that is better. Raises ValueError for fewer
    than two arms, and for a key that is twice in a paired arm.
    """
    if len(arms) < 2:
        raise ValueError("A comparison needs two arms at least.")
    before, *others = arms
    confidence = 1 - (1 - CONFIDENCE) / len(others)
    pairing = Pairing.of([arm.tasks for arm in arms]) if paired is True else paired

    def pair(one: int, other: int) -> PairSums | None:
        return pairing.between(one, other) if pairing else None

    changes = [
        measure_change(before, arm, confidence, pair(0, place))
        for place, arm in enumerate(others, start=1)
    ]
    results = [_result(before, arm, change) for arm, change in zip(others, changes, strict=True)]
    chosen = _chosen(results)
    best = 1 + next(place for place, one in enumerate(results) if one is chosen)
    results = [
        one if one is chosen else _beside(one, chosen, confidence, pair(best, place))
        for place, one in enumerate(results, start=1)
    ]
    measure = replace(_figures(before), verdict=Verdict.MEASURE, words="The measure")
    both = pair(0, best)
    return Comparison(
        before=measure,
        arms=results,
        headline=chosen.sentence,
        detail=_detail(measure, chosen, both, named=len(results) > 1),
        tone=TONES.get(chosen.verdict, "wait"),
        advice=advise(before, results, chosen),
        more_needed=chosen.more_needed,
        chosen=chosen,
        same_items=both.count if both else None,
    )


def _result(before: ArmData, arm: ArmData, change: Change | None) -> ArmResult:
    found = quality(before, arm)
    judgement = judge(before, arm, change, found)
    return replace(
        _figures(arm),
        change=None if change is None or before.unpriced or arm.unpriced else change.interval,
        verdict=judgement.verdict,
        words=judgement.words,
        sentence=judgement.sentence,
        quality=found.sentence,
        reason=judgement.reason,
        more_needed=judgement.more_needed,
    )


def _figures(arm: ArmData) -> ArmResult:
    """What an arm is by itself."""
    hours = arm.seconds / SECONDS_PER_HOUR
    return ArmResult(
        data=arm,
        cost_per_task=None if arm.unpriced else _in_dollars(cost_per_task(arm.costs, CONFIDENCE)),
        change=None,
        cache_share=cache_share(arm),
        tasks_per_hour=arm.succeeded / hours if hours else None,
        failure_share=arm.dead / arm.items if arm.items else None,
        pass_share=arm.passed / arm.judged if arm.judged else None,
        verdict=Verdict.UNDECIDED,
        words="",
    )


def _chosen(results: Sequence[ArmResult]) -> ArmResult:
    """The cheapest of those that are better, else of those that are cheaper, else the first."""
    for verdict in (Verdict.BETTER, Verdict.CHEAPER):
        found = [one for one in results if one.verdict is verdict]
        if found:
            return min(found, key=lambda one: one.change.mid if one.change else 0.0)
    return results[0]


def _beside(
    one: ArmResult, chosen: ArmResult, confidence: float, pair: PairSums | None
) -> ArmResult:
    """What is better too may still be dearer than what was chosen."""
    if one.verdict is not Verdict.BETTER:
        return one
    change = measure_change(chosen.data, one.data, confidence, pair)
    if change is None or change.sign <= 0:
        return one
    return replace(one, words=f"Better, but dearer than {chosen.data.label}")


def _detail(before: ArmResult, chosen: ArmResult, both: PairSums | None, *, named: bool) -> str:
    return words.sentences(
        _costs(before, chosen, both, named=named), chosen.quality, _bounds(before, chosen)
    )


def _costs(before: ArmResult, chosen: ArmResult, both: PairSums | None, *, named: bool) -> str:
    """What a task cost before and after; of pairs, over the items that both did."""
    if before.cost_per_task is None or chosen.cost_per_task is None:
        return ""
    costs = before.cost_per_task.mid, chosen.cost_per_task.mid
    over = f"{before.data.items:,} items before and {chosen.data.items:,} after"
    if both is not None:
        if both.count < 2 or not both.succeeded:
            return ""
        ratio = both.ratio()
        costs = _exact(ratio.before), _exact(ratio.after)
        over = f"the same {both.count:,} items"
    then, now = (words.usd(one, costs) for one in costs)
    if named:
        then, now = f"{then} ({before.data.label})", f"{now} ({chosen.data.label})"
    return f"{then} → {now} per task, failed and regenerated attempts included, on {over}."


def _bounds(before: ArmResult, chosen: ArmResult) -> str:
    """How much of the money is a bound, where any is."""
    arms = (before.data, chosen.data)
    unknown, count = sum(arm.unknown for arm in arms), sum(arm.unknown_attempts for arm in arms)
    if not unknown:
        return ""
    attempts = many(count, "attempt", "attempts")
    return f"{attempts} of unknown cost counted at the bound, {words.usd(dollars(unknown))} in all."


def _in_dollars(interval: Interval[float] | None) -> Interval[Decimal] | None:
    if interval is None:
        return None
    return Interval(_dollars(interval.low), _exact(interval.mid), _dollars(interval.high))


def _dollars(amount: float | None) -> Decimal | None:
    return None if amount is None else _exact(amount)


def _exact(amount: float) -> Decimal:
    return (Decimal(amount) * UNIT).quantize(UNIT)
