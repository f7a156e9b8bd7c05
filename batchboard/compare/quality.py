"""Quality beside cost: what passes review, and what gets no result at all."""

from dataclasses import dataclass

from batchboard.compare.data import ArmData
from batchboard.compare.intervals import difference_of_shares
from batchboard.compare.words import percent, sentences
from batchboard.wording import listed

HIDDEN = 0.1
"""From so large a fall on that a review could have missed, it is said."""


@dataclass(frozen=True)
class Quality:
    """An arm against the measure. `worse` is what for certain is worse, `doubt` why it was not
    shown to be as good; each is review, items or nothing, and `doubt` also unreviewed.
    `clause` says what is worse, to follow "but"; `sentence` says all."""

    worse: str
    doubt: str
    clause: str
    sentence: str


def quality(before: ArmData, after: ArmData) -> Quality:
    review, review_sentence = _review(before, after)
    items, items_sentence = _items(before, after)
    worse = next((n for n, sign in (("review", review), ("items", items)) if sign == "worse"), "")
    doubt = ""
    if review == "unreviewed":
        doubt = "unreviewed"
    elif review == "doubt":
        doubt = "review"
    elif items == "doubt":
        doubt = "items"
    clause = ""
    if worse == "review":
        clause = f"fewer pass review: {_passes(after)} instead of {_passes(before)}"
    elif worse == "items":
        clause = f"more items fail for good: {_fails(after)} instead of {_fails(before)}"
    return Quality(worse, doubt, clause, sentences(review_sentence, items_sentence))


def _review(before: ArmData, after: ArmData) -> tuple[str, str]:
    silent = [arm.label for arm in (before, after) if not arm.judged]
    if silent:
        whose = "" if len(silent) == 2 else f" of {listed(silent)}"
        return "unreviewed", f"Quality not compared: nothing{whose} was reviewed."
    found = difference_of_shares(after.passed, after.judged, before.passed, before.judged)
    now, then = _passes(after), _passes(before)
    low, high = found.low or 0.0, found.high or 0.0
    if high < 0:
        return "worse", f"Fewer pass review: {now} instead of {then}."
    if low > 0:
        return "", f"More pass review: {now} instead of {then}."
    if found.mid < 0:
        counts = f"{after.passed} of {after.judged} instead of {before.passed} of {before.judged}"
        return "doubt", f"Fewer passed review, which may be chance: {counts}."
    both = (
        f"{now} passed review before and after"
        if now == then
        else (f"{then} passed review before and {now} after")
    )
    hidden = ""
    if low < -HIDDEN:
        hidden = (
            f", though with {before.judged} and {after.judged} judged"
            f" up to {percent(-low)} fewer could pass"
        )
    return "", f"No difference found in quality: {both}{hidden}."


def _items(before: ArmData, after: ArmData) -> tuple[str, str]:
    if not before.items or not after.items:
        return "", ""
    found = difference_of_shares(after.dead, after.items, before.dead, before.items)
    if (found.low or 0.0) > 0:
        return "worse", f"More items failed for good: {_fails(after)} instead of {_fails(before)}."
    if found.mid > 0:
        counts = f"{after.dead:,} of {after.items:,} instead of {before.dead:,} of {before.items:,}"
        return "doubt", f"More items failed for good, which may be chance: {counts}."
    if (found.high or 0.0) < 0:
        return "", f"Fewer items failed for good: {_fails(after)} instead of {_fails(before)}."
    return "", ""


def _passes(arm: ArmData) -> str:
    return percent(arm.passed / arm.judged)


def _fails(arm: ArmData) -> str:
    share = arm.dead / arm.items
    return percent(share, 0 if share >= 0.1 or not share else 1)
