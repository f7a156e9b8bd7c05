"""What is compared and what comes of it: the measured arms, and their results; money in units."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Generic, TypeVar

from batchboard.compare.spread import Spread
from batchboard.pricing import Usage

T = TypeVar("T", float, Decimal)


@dataclass(frozen=True)
class Interval(Generic[T]):
    """An estimate with its confidence interval; a bound is None where the data give none."""

    low: T | None
    mid: T
    high: T | None


@dataclass(frozen=True, slots=True)
class TaskCost:
    """Units of money that one item cost in all: failed, lost and regenerated attempts included.

    `unknown` is the part of `cost` that is only a bound (attempts that nobody knows the cost of,
    counted at what was reserved for them). `ok` says whether the item succeeded.
    """

    key: str
    cost: int
    ok: bool
    unknown: int = 0


@dataclass(frozen=True, kw_only=True)
class Done:
    """What items that have a result or are dead did and cost: how their costs are spread, and sums
    over all their ended attempts.

    `usage` counts tokens by kind and `money` what they cost (units, by kind); `failed_usage` and
    `failed_money` are what attempts without a result have of that. `unknown` is the bound of what
    `unknown_attempts` cost (units), and together with `money` it is what the items cost;
    `unpriced` counts attempts of which neither a price nor a bound is known.
    """

    spread: Spread = field(default_factory=Spread)
    usage: Usage = field(default_factory=Usage)
    money: Usage = field(default_factory=Usage)
    failed_usage: Usage = field(default_factory=Usage)
    failed_money: Usage = field(default_factory=Usage)
    unknown: int = 0
    unknown_attempts: int = 0
    unpriced: int = 0
    calls: int = 0
    attempts: int = 0
    failed_attempts: int = 0
    lost: int = 0


@dataclass(frozen=True)
class ArmData(Done):
    """What one way of working did and cost. The first of the arms compared is the measure.

    Sums are over the items in `tasks`; of very many it is enough to give their `spread` instead,
    and to pair such arms takes the stored sums of their pairs. `shared_tokens` and
    `minimum_tokens` (the least that the model caches) are None where nothing was to be cached or
    nothing was counted, `group` is how many items share a call or a conversation, None where each
    has its own. `seconds` is wall time in which at least one call was in flight. `under_way` is how
    many batches of the set have not ended: nothing of them is counted. `left` is how many items of
    those counted have not ended: they are no part of it yet. `simulated` says that any of it was
    measured at the simulated provider.
    """

    label: str
    mode: str
    detail: str
    tasks: Sequence[TaskCost] = ()
    seconds: float = 0.0
    latency_median_ms: int | None = None
    latency_p95_ms: int | None = None
    judged: int = 0
    passed: int = 0
    shared_tokens: int | None = None
    minimum_tokens: int | None = None
    group: int | None = None
    model: str = ""
    under_way: int = 0
    left: int = 0
    simulated: bool = False

    @cached_property
    def costs(self) -> Spread:
        """How the costs of the items are spread, however they were given."""
        if not self.tasks:
            return self.spread
        return Spread.of((task.cost, task.ok, task.unknown) for task in self.tasks)

    @property
    def items(self) -> int:
        """Items that ended, with a result or without."""
        return self.costs.ok.count + self.costs.dead.count

    @property
    def succeeded(self) -> int:
        return self.costs.ok.count

    @property
    def dead(self) -> int:
        return self.costs.dead.count

    @property
    def cost(self) -> int:
        """Units of money in all, bounds of unknown costs included."""
        return self.costs.ok.total + self.costs.dead.total

    def tokens_per_task(self) -> dict[str, float] | None:
        """Tokens of all attempts for each item that succeeded, by kind: cache_read, cache_write,
        input, output."""
        if not self.succeeded:
            return None
        usage, tasks = self.usage, self.succeeded
        return {
            "cache_read": usage.cache_read / tasks,
            "cache_write": usage.cache_write / tasks,
            "input": usage.input / tasks,
            "output": usage.output / tasks,
        }


class Verdict(StrEnum):
    """What the comparison says of an arm against the measure."""

    MEASURE = "measure"  # the others are held against it
    BETTER = "better"  # cheaper for certain, and reviewed: it passes no less
    CHEAPER = "cheaper"  # cheaper for certain; that its quality holds was not shown
    NOT_BETTER = "not_better"  # cheaper, but for certain it fails more, in review or before
    WORSE = "worse"  # dearer for certain
    NO_DIFFERENCE = "no_difference"  # what difference there is, is small
    UNDECIDED = "undecided"  # not enough items to tell


@dataclass(frozen=True)
class Reason:
    """Why a cost changed: `kind` names it for advice, `text` goes on after a colon."""

    kind: str
    text: str


@dataclass(frozen=True)
class ArmResult:
    """An arm with its verdict.

    `cost_per_task` is in dollars: all money spent on the items over the items that succeeded; None
    where none did. `change` is the cost per task against the measure as a share, -0.41 for 41 %
    less; None for the measure itself. `cache_share` is of all prompt tokens, `failure_share` the
    items without a result, `pass_share` of the judged results; each None where there is nothing to
    divide by. `words` name the verdict in a few words, for a pill; `sentence` says it with number,
    interval and reason; `quality` is a sentence on quality, `reason` why the cost changed.
    """

    data: ArmData
    cost_per_task: Interval[Decimal] | None
    change: Interval[float] | None
    cache_share: float | None
    tasks_per_hour: float | None
    failure_share: float | None
    pass_share: float | None
    verdict: Verdict
    words: str
    sentence: str = ""
    quality: str = ""
    reason: Reason | None = None
    more_needed: int | None = None


@dataclass(frozen=True)
class Advice:
    """What to do next: `strong` leads, `text` says why. `kind` is one of keep, avoid, review, more,
    split, smaller_group, longer_lifetime, context, failures, faster."""

    kind: str
    strong: str
    text: str


@dataclass(frozen=True)
class Comparison:
    """The measure and the arms held against it, in the order given.

    `chosen` is the arm that the headline speaks of: the cheapest of those that are better, or else
    the first. `tone` is a status of the page's colours: ok, dead, person or wait. `same_items` is
    over how many items the chosen arm is paired with the measure, None where it is not paired.
    `more_needed` is about how many more items would decide, None where it is decided or no
    number helps.
    """

    before: ArmResult
    arms: Sequence[ArmResult]
    headline: str
    detail: str
    tone: str
    advice: Sequence[Advice]
    more_needed: int | None
    chosen: ArmResult | None
    same_items: int | None
