"""A comparison as the page shows it: rows, plots and words, without the tasks that it came from."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from batchboard.compare import Advice, ArmResult, Comparison, Interval, Verdict
from batchboard.compare.words import simulated, under_way
from batchboard.row_plots import Spread, Stack, Stacks, Whiskers, stacks, whiskers
from batchboard.templatetags.figures import share, usd_per_task
from batchboard.views.cost_words import (
    ADVICE,
    LOOKS,
    OTHER_ADVICE,
    change_words,
    on_axis,
    per_task,
)

KINDS = (
    ("read", "Read from cache"),
    ("written", "Written to cache"),
    ("input", "Input"),
    ("output", "Output"),
)
LONGEST_LABEL = 20


@dataclass(frozen=True)
class Arm:
    """A row of the table; `name` is its label without its part in the comparison, `tone` and
    `icon` are how its verdict looks. It holds no task, so that keeping it is cheap."""

    name: str
    label: str
    detail: str
    cost: Interval[Decimal] | None
    change: Interval[float] | None
    tokens: dict[str, float] | None
    cache_share: float | None
    tasks_per_hour: float | None
    failure_share: float | None
    pass_share: float | None
    items: int
    succeeded: int
    judged: int
    verdict: str
    words: str
    sentence: str
    quality: str
    tone: str
    icon: str
    is_measure: bool
    is_chosen: bool
    fails_more: bool
    is_simulated: bool

    @property
    def changed(self) -> str:
        return change_words(self.change, interval=False)

    @property
    def per_hour(self) -> int | None:
        return None if self.tasks_per_hour is None else round(self.tasks_per_hour)

    @property
    def is_lit(self) -> bool:
        """Whether it is the row to look at."""
        return self.is_chosen and self.tone == "ok"


@dataclass(frozen=True)
class Suggestion:
    """Advice with how it looks."""

    advice: Advice
    tone: str
    icon: str


@dataclass(frozen=True)
class Shown:
    """All that the page says of a comparison. `before` and `after` are the dollars of a task in
    the measure and in the arm that the headline speaks of, where the two differ for certain;
    `caching_model` is the model whose cache was read from."""

    headline: str
    detail: str
    tone: str
    more_needed: int | None
    arms: Sequence[Arm]
    advice: Sequence[Suggestion]
    costs: Whiskers
    tokens: Stacks | None
    caching_model: str
    is_paired: bool
    before: Decimal | None
    after: Decimal | None
    under_way: Sequence[str]
    """What was left out because it has not ended, a sentence for each arm."""

    simulated: str
    """That money of it is not real, where that is so."""

    @property
    def dots(self) -> str:
        """The tone of what is after the change."""
        return next((arm.tone for arm in self.arms if arm.is_chosen), "wait")


def shown(found: Comparison) -> Shown:
    arms = [_arm(result, found) for result in (found.before, *found.arms)]
    decided = found.chosen is not None and found.chosen.verdict not in {
        Verdict.UNDECIDED,
        Verdict.NO_DIFFERENCE,
    }
    return Shown(
        headline=found.headline,
        detail=found.detail,
        tone=found.tone,
        more_needed=found.more_needed,
        arms=arms,
        advice=[Suggestion(one, *ADVICE.get(one.kind, OTHER_ADVICE)) for one in found.advice],
        costs=_costs(arms),
        tokens=_tokens(arms),
        caching_model=next(
            (one.data.model for one in (*found.arms, found.before) if one.cache_share), ""
        ),
        is_paired=found.same_items is not None,
        before=_dollars(found.before) if decided else None,
        after=_dollars(found.chosen) if decided else None,
        under_way=under_way(found),
        simulated=simulated(found),
    )


def _arm(result: ArmResult, found: Comparison) -> Arm:
    is_chosen = result is found.chosen
    prefix = "Before: " if result is found.before else "After: " if is_chosen else ""
    tone, icon = LOOKS[result.verdict]
    passes = found.before.pass_share
    return Arm(
        name=result.data.label,
        label=f"{prefix}{result.data.label}",
        detail=result.data.detail,
        cost=result.cost_per_task,
        change=result.change,
        tokens=result.data.tokens_per_task(),
        cache_share=result.cache_share,
        tasks_per_hour=result.tasks_per_hour,
        failure_share=result.failure_share,
        pass_share=result.pass_share,
        items=result.data.items,
        succeeded=result.data.succeeded,
        judged=result.data.judged,
        verdict=str(result.verdict),
        words=result.words,
        sentence=result.sentence,
        quality=result.quality,
        tone=tone,
        icon=icon,
        is_measure=result is found.before,
        is_chosen=is_chosen,
        is_simulated=result.data.simulated,
        fails_more=result.verdict == Verdict.NOT_BETTER
        and passes is not None
        and result.pass_share is not None
        and result.pass_share < passes,
    )


def _costs(arms: Sequence[Arm]) -> Whiskers:
    spreads = [
        Spread(
            label=_short(arm.label),
            low=None if cost.low is None else float(cost.low),
            mid=float(cost.mid),
            high=None if cost.high is None else float(cost.high),
            value=usd_per_task(cost.mid),
            tone=arm.tone,
            note=change_words(arm.change) if arm.change else "",
            strong=arm.is_measure or arm.is_chosen,
            shaded=arm.is_chosen and arm.tone in {"ok", "dead", "person"},
        )
        for arm in arms
        if (cost := arm.cost) is not None
    ]
    said = "; ".join(
        f"{arm.label} {usd_per_task(arm.cost.mid)}"
        + (f", {change_words(arm.change)}" if arm.change else "")
        for arm in arms
        if arm.cost is not None
    )
    return whiskers(
        "plot-costs",
        f"Mean cost per task with its 95 % interval: {said}.",
        spreads,
        value=per_task,
        tick=on_axis,
        rows_are="Arm",
    )


def _tokens(arms: Sequence[Arm]) -> Stacks | None:
    given, said = [], []
    for arm in arms:
        if arm.tokens is None:
            continue
        parts = [arm.tokens[kind] for kind in ("cache_read", "cache_write", "input", "output")]
        given.append(Stack(_short(arm.name), parts, arm.is_measure or arm.is_chosen))
        said.append(
            f"{arm.name} {sum(parts):,.0f} tokens a task,"
            f" {share(parts[0] / sum(parts) if sum(parts) else 0.0)} of them read from the cache"
        )
    if not any(sum(one.parts) for one in given):
        return None
    says = f"Tokens per task by kind: {'; '.join(said)}."
    return stacks("plot-tokens", says, given, KINDS, rows_are="Arm")


def _dollars(result: ArmResult | None) -> Decimal | None:
    cost = result.cost_per_task if result else None
    return cost.mid if cost else None


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
