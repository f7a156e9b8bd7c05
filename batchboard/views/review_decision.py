"""What a person may decide about a batch in review, what follows from it, and why not."""

from dataclasses import dataclass

from batchboard.models import Batch, Limits, User
from batchboard.roles import NEEDED, Right, may


@dataclass(frozen=True)
class Decision:
    """`refusal` says why this person cannot approve now; empty where they can."""

    results: int
    drawn: int
    left: int
    bad: int
    allowed_bad: int
    refusal: str
    needs_override: bool
    can_reject: bool
    can_send_again: bool

    @classmethod
    def of(cls, batch: Batch, user: User, *, drawn: int, judged: int, bad: int) -> "Decision":
        needs_override = bad > batch.allowed_bad
        return cls(
            results=batch.succeeded,
            drawn=drawn,
            left=drawn - judged,
            bad=bad,
            allowed_bad=batch.allowed_bad,
            refusal=_refusal(batch, user, drawn, drawn - judged, needs_override),
            needs_override=needs_override,
            can_reject=may(user, Right.REVIEW),
            can_send_again=may(user, Right.OPERATE),
        )

    @property
    def standing(self) -> str:
        if self.left:
            return f"{self.left:,} left to judge"
        return f"{self.bad:,} bad of {self.drawn:,}" if self.drawn else ""

    @property
    def plan(self) -> str:
        return plan(self.allowed_bad)


def plan(allowed_bad: int) -> str:
    """What the plan allows, in words."""
    if not allowed_bad:
        return "The plan allows no bad one"
    return f"The plan allows {allowed_bad:,} bad"


def _refusal(batch: Batch, user: User, drawn: int, left: int, needs_override: bool) -> str:
    if not may(user, Right.REVIEW):
        return f"Only {NEEDED[Right.REVIEW]} may approve or reject."
    if not batch.lets_approve(user, Limits.objects.current()):
        return "You started this batch, so another reviewer has to approve it."
    if not drawn:
        return "No item succeeded, so there is nothing to approve."
    if left:
        return f"Approve opens when {'it is' if drawn == 1 else f'all {drawn:,} are'} judged."
    if needs_override and not may(user, Right.ADMINISTER):
        return (
            f"More are bad than the plan allows: only {NEEDED[Right.ADMINISTER]} may override it."
        )
    return ""
