"""The verdict on an arm, in words with number, interval and reason."""

from dataclasses import dataclass

from batchboard.compare import words
from batchboard.compare.change import FEWEST, Change
from batchboard.compare.data import ArmData, Reason, Verdict
from batchboard.compare.quality import Quality
from batchboard.compare.reasons import nothing_cached, reason
from batchboard.wording import listed, many

UNREVIEWED = "Cheaper; quality not compared"


@dataclass(frozen=True)
class Judgement:
    """A verdict, its `words` for a pill, a `sentence`, why the cost changed, and about how many
    more items would decide."""

    verdict: Verdict
    words: str
    sentence: str
    reason: Reason | None = None
    more_needed: int | None = None


def judge(before: ArmData, after: ArmData, change: Change | None, quality: Quality) -> Judgement:
    """What can be said of `after`; `change` is None where its cost cannot be held against that of
    `before` at all."""
    if change is None or before.unpriced or after.unpriced:
        return _incomparable(before, after, quality)
    if change.sign < 0:
        return _cheaper(before, after, change, quality)
    if change.sign > 0:
        return _dearer(before, after, change)
    if change.small:
        return _alike(after, change, quality)
    return _undecided(before, after, change, quality)


def _cheaper(before: ArmData, after: ArmData, change: Change, quality: Quality) -> Judgement:
    why = reason(before, after, -1)
    fell = f"ost per task fell by {words.change(change.interval)}"
    if quality.worse:
        sentence = f"Not better: c{fell}, but {quality.clause}."
        return Judgement(Verdict.NOT_BETTER, _fails(quality), sentence, why)
    sentence = f"C{fell}{_because(why)}."
    if not quality.doubt:
        return Judgement(Verdict.BETTER, "Better", sentence, why)
    reviewed = before.judged or after.judged
    says = {
        "unreviewed": UNREVIEWED if reviewed else f"{UNREVIEWED}: nothing was reviewed",
        "review": "Cheaper; fewer passed review, perhaps by chance",
        "items": "Cheaper; more items failed, perhaps by chance",
    }[quality.doubt]
    return Judgement(Verdict.CHEAPER, says, sentence, why)


def _dearer(before: ArmData, after: ArmData, change: Change) -> Judgement:
    why = reason(before, after, 1)
    sentence = f"Cost per task rose by {words.change(change.interval)}{_because(why)}."
    if why is None or why.kind != "below_minimum":
        sentence = words.sentences(sentence, _note(after))
    return Judgement(Verdict.WORSE, "Dearer", sentence, why)


def _alike(after: ArmData, change: Change, quality: Quality) -> Judgement:
    interval = change.interval
    if interval.low == interval.high:
        found = "no difference found: the cost per task is the same"
    else:
        found = f"no difference found: {words.between(interval)}"
    if quality.worse:
        sentence = f"Not better: {quality.clause}. On cost {found}."
        return Judgement(Verdict.NOT_BETTER, _fails(quality), sentence)
    sentence = words.sentences(f"N{found[1:]}.", _note(after))
    return Judgement(Verdict.NO_DIFFERENCE, "No difference found", sentence)


def _undecided(before: ArmData, after: ArmData, change: Change, quality: Quality) -> Judgement:
    more: int | None = None
    if change.depends:
        count = before.unknown_attempts + after.unknown_attempts
        attempts = many(count, "attempt", "attempts")
        short = "Depends on unknown costs"
        sentence = f"Not certain: it depends on what {attempts} of unknown cost really cost."
    else:
        more = change.more_needed()
        short = "Not enough items"
        needed = f"about {more:,} more are needed" if more else "more than 10,000 more are needed"
        sentence = f"Not enough items to tell: {needed}."
    if quality.worse:
        sentence = f"Not better: {quality.clause}. On cost: {sentence[0].lower()}{sentence[1:]}"
        return Judgement(Verdict.NOT_BETTER, _fails(quality), sentence, more_needed=more)
    return Judgement(Verdict.UNDECIDED, short, sentence, more_needed=more)


def _incomparable(before: ArmData, after: ArmData, quality: Quality) -> Judgement:
    more: int | None = None
    short = "Not enough items"
    unpriced = [arm.label for arm in (before, after) if arm.unpriced]
    failed = [arm.label for arm in (before, after) if arm.items and not arm.succeeded]
    if unpriced:
        short = "Cost unknown"
        sentence = f"The cost is not known: attempts of {listed(unpriced)} had no price."
    elif failed:
        sentence = (
            f"Not enough items to tell: none of {listed(failed)} succeeded,"
            " so there is no cost per task."
        )
    elif min(before.succeeded, after.succeeded) < FEWEST:
        more = FEWEST - min(before.succeeded, after.succeeded)
        are = "is" if more == 1 else "are"
        sentence = f"Not enough items to tell: at least {more} more {are} needed."
    else:
        sentence = "There is nothing to compare: hardly an item is in both, or it cost nothing."
    if quality.worse:
        sentence = f"Not better: {quality.clause}. {sentence}"
        return Judgement(Verdict.NOT_BETTER, _fails(quality), sentence, more_needed=more)
    return Judgement(Verdict.UNDECIDED, short, sentence, more_needed=more)


def _because(why: Reason | None) -> str:
    return f": {why.text}" if why else ""


def _note(after: ArmData) -> str:
    """That nothing was cached where that was meant to happen, as a sentence of its own."""
    clause = nothing_cached(after)
    return f"{clause[0].upper()}{clause[1:]}." if clause else ""


def _fails(quality: Quality) -> str:
    said = {"review": "fails review more", "items": "more items fail"}
    return f"Not better: {said[quality.worse]}"
