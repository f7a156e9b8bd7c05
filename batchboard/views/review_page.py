"""What the review page shows: the sample, one drawn result beside its input, and the proof."""

from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from batchboard.models import Batch, Preparation, Review, ReviewState, SampledItem, User
from batchboard.proof import Proof, proof
from batchboard.roles import Right, may
from batchboard.states import BatchState
from batchboard.strict_json import JsonError, Value, parse
from batchboard.templatetags.values import SHOWN_AT_FIRST, Shown, as_fields
from batchboard.views.review_decision import Decision, plan
from dispatch import contract

CELLS = 60
"""Up to so many drawn results, each has a cell of its own above the list."""


@dataclass(frozen=True)
class Drawn:
    """One drawn result in the list. `standing` is pass, fail, mine, held or open."""

    sampled: SampledItem
    key: str
    standing: str
    is_current: bool

    @property
    def is_open(self) -> bool:
        return not self.sampled.verdict

    @property
    def minutes(self) -> int:
        """How long the reservation lasts, in begun minutes."""
        until = self.sampled.reserved_until or timezone.now()
        return max(1, ceil((until - timezone.now()).total_seconds() / 60))


@dataclass(frozen=True)
class Look:
    """The drawn result that is looked at."""

    item: Any
    input: Shown
    output: Shown
    raw: str
    size: int
    is_cut: bool
    shows_all: bool
    is_met: bool | None
    contract: str
    tokens: int | None
    max_tokens: int | None


@dataclass(frozen=True)
class ReviewPage:
    batch: Batch
    review: Review | None
    drawn: list[Drawn]
    current: Drawn | None
    look: Look | None
    proof: Proof | None
    decision: Decision | None
    can_judge: bool
    can_take_back: bool
    decided_by: User | None
    reruns: list[Batch]
    copying: Preparation | None
    """Who is rejecting it just now, and how far the items are that go again."""

    @property
    def judged(self) -> int:
        return sum(not row.is_open for row in self.drawn)

    @property
    def waits_for(self) -> str:
        """Who judges what is left, where this person can do nothing but wait for them."""
        left = [row for row in self.drawn if row.is_open]
        if not left or any(row.standing != "held" for row in left):
            return ""
        names = sorted({str(row.sampled.reserved_by) for row in left})
        until = max(row.minutes for row in left)
        verb = "is" if len(names) == 1 else "are"
        return f"{' and '.join(names)} {verb} judging what is left, for {until} min at most."

    @property
    def has_cells(self) -> bool:
        return len(self.drawn) <= CELLS

    @property
    def is_open(self) -> bool:
        return self.decision is not None

    @property
    def place(self) -> int:
        return self.drawn.index(self.current) if self.current else 0

    @property
    def previous(self) -> str | None:
        return self.drawn[self.place - 1].key if self.place else None

    @property
    def next(self) -> str | None:
        after = self.place + 1
        return self.drawn[after].key if after < len(self.drawn) else None

    @property
    def overridden(self) -> str:
        """What the sample said against an approval that was given all the same."""
        if self.review is None or self.review.state != ReviewState.APPROVED:
            return ""
        bad = sum(row.standing == "fail" for row in self.drawn)
        if bad <= self.batch.allowed_bad:
            return ""
        verb = "was" if bad == 1 else "were"
        return f"{bad:,} of {len(self.drawn):,} {verb} bad. {plan(self.batch.allowed_bad)}"

    @property
    def decided_at(self) -> datetime | None:
        return self.review.decided_at if self.review else None

    @property
    def seconds(self) -> float | None:
        """From the first call to the last answer."""
        if not (self.batch.started_at and self.batch.finished_at):
            return None
        return (self.batch.finished_at - self.batch.started_at).total_seconds()


def review_page(batch: Batch, user: User, key: str = "", *, shows_all: bool = False) -> ReviewPage:
    """The page as `user` sees it, at the drawn result named or at the one to judge next."""
    review = latest_review(batch)
    is_open = (
        review is not None and review.state == ReviewState.OPEN and batch.state == BatchState.REVIEW
    )
    sampled = list(_sampled(review)) if review else []
    current = _current(sampled, user, key)
    now = timezone.now()
    drawn = [_drawn(row, user, current, now) for row in sampled]
    judged = sum(bool(row.verdict) for row in sampled)
    bad = sum(row.verdict == "fail" for row in sampled)
    mine = any(row.verdict and row.judged_by_id == user.pk for row in sampled)
    can_judge = is_open and may(user, Right.REVIEW)
    return ReviewPage(
        batch=batch,
        review=review,
        drawn=drawn,
        current=next((row for row in drawn if row.is_current), None),
        look=_look(batch, current, shows_all) if current else None,
        proof=_proof(review, len(sampled), judged, bad, is_open) if review else None,
        decision=Decision.of(batch, user, drawn=len(sampled), judged=judged, bad=bad)
        if is_open
        else None,
        can_judge=can_judge,
        can_take_back=can_judge and bool(mine or (current and current.verdict)),
        decided_by=review.decided_by if review else None,
        copying=Preparation.objects.rejecting(batch).first() if is_open else None,
        reruns=list(batch.reruns.order_by("id")) if batch.state == BatchState.REJECTED else [],
    )


def _proof(review: Review, drawn: int, judged: int, bad: int, is_open: bool) -> Proof:
    """After the decision nothing more is judged or drawn: what was judged is the sample."""
    if is_open or not drawn:
        return proof(review.population, drawn, judged, bad)
    if not judged:
        return Proof("Nothing drawn was judged before the decision, so the sample proves nothing.")
    return replace(proof(review.population, judged, judged, bad), more=0, bound="")


def latest_review(batch: Batch) -> Review | None:
    """The newest review that was not closed undecided."""
    reviews = batch.reviews.exclude(state=ReviewState.CLOSED).select_related("decided_by")
    return reviews.order_by("-id").first()


def _sampled(review: Review) -> QuerySet[SampledItem]:
    related = ("item", "judged_by", "reserved_by")
    return review.sampled.select_related(*related).order_by("place")


def _current(sampled: list[SampledItem], user: User, key: str) -> SampledItem | None:
    """The one asked for; else what `user` holds, the first that is free, the first of all."""
    now = timezone.now()
    named = [row for row in sampled if row.item.key == key]
    unjudged = [row for row in sampled if not row.verdict]
    mine = [row for row in unjudged if _holder(row, now) == user.pk]
    free = [row for row in unjudged if _holder(row, now) is None]
    return next(iter((*named, *mine, *free, *unjudged, *sampled)), None)


def _holder(row: SampledItem, now: datetime) -> int | None:
    is_held = row.reserved_until is not None and row.reserved_until > now
    return row.reserved_by_id if is_held else None


def _drawn(row: SampledItem, user: User, current: SampledItem | None, now: datetime) -> Drawn:
    holder = _holder(row, now)
    standing = row.verdict or (
        "open" if holder is None else "mine" if holder == user.pk else "held"
    )
    return Drawn(row, row.item.key, standing, row is current)


def _look(batch: Batch, current: SampledItem, shows_all: bool) -> Look:
    found = batch.drawn_result(current.pk)
    text, limit = found.output, None if shows_all else SHOWN_AT_FIRST
    schema = batch.version.contract
    is_met, words, value = _judged_by_contract(schema, text)
    given = as_fields(found.item.input.data, limit=limit)
    output = as_fields(value, _marked(schema), limit)
    result = found.item.result
    return Look(
        item=found.item,
        input=given,
        output=output,
        raw=text if limit is None else text[:limit],
        size=len(text.encode()),
        is_cut=given.is_cut or output.is_cut or (limit is not None and len(text) > limit),
        shows_all=shows_all,
        is_met=is_met,
        contract=words,
        tokens=result.output_tokens if result else None,
        max_tokens=result.max_tokens if result else None,
    )


def _judged_by_contract(schema: Any, text: str) -> tuple[bool | None, str, Value]:
    """Whether the contract is met (None: there is none), in words, and the answer's value."""
    if schema is None:
        return None, "No contract: any text counts", _value_of(text)
    verdict = contract.compile(schema).check(text)
    if not verdict.ok:
        return False, f"Does not meet the contract: {verdict.problem}", _value_of(text)
    if not isinstance(verdict.value, dict):
        return True, "Meets the contract", verdict.value
    named = schema.get("properties", {}) if isinstance(schema, dict) else {}
    whole = len(named.keys() | verdict.value.keys())
    return True, f"Meets the contract: {len(verdict.value)} of {whole} fields", verdict.value


def _value_of(text: str) -> Value:
    """Text without a contract may be JSON all the same; only objects and lists gain from it."""
    try:
        value = parse(text) if text.lstrip()[:1] in {"{", "["} else text
    except JsonError:
        return text
    return value


def _marked(schema: Any) -> frozenset[str]:
    """Fields that hold one of a few words."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return frozenset()
    return frozenset(
        name for name, part in properties.items() if isinstance(part, dict) and "enum" in part
    )
