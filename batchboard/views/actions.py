"""The one thing that a person can do at once about a batch that stands still."""

from dataclasses import dataclass

from django.urls import reverse

from batchboard.models import Batch
from batchboard.roles import Right
from batchboard.states import UNFINISHED_BATCH, BatchState, Block
from batchboard.views.review_progress import ReviewProgress


@dataclass(frozen=True)
class Action:
    """A link, or a button that posts, for whoever has the right."""

    label: str
    address: str
    right: Right
    posts: bool = False


def action(batch: Batch, review: ReviewProgress) -> Action | None:
    """What helps `batch` on, or None where nothing does or nobody has to act."""
    if batch.blocked and batch.state in UNFINISHED_BATCH:
        return _unblocks(batch)
    if batch.state == BatchState.PAUSED:
        return _resume(batch)
    if batch.state == BatchState.REVIEW:
        address = reverse("review", args=[batch.public_id])
        return Action(_review_label(batch, review), address, Right.REVIEW)
    return None


def _unblocks(batch: Batch) -> Action:
    if batch.blocked == Block.BUDGET:
        settings = reverse("batch-settings", args=[batch.public_id])
        return Action("Raise the budget", settings, Right.OPERATE)
    if batch.blocked == Block.CEILING:
        return Action("Raise the ceiling", reverse("limits"), Right.ADMINISTER)
    if batch.blocked == Block.FIRST_LOOK:
        results = reverse("batch", args=[batch.public_id]) + "?state=succeeded"
        return Action("Look at the first", results, Right.OPERATE)
    return _resume(batch)


def _resume(batch: Batch) -> Action:
    address = reverse("batch-resumption", args=[batch.public_id])
    return Action("Resume", address, Right.OPERATE, posts=True)


def _review_label(batch: Batch, review: ReviewProgress) -> str:
    if not review.drawn:
        return "Decide"
    if review.judged < review.drawn:
        return "Review"
    return "Approve" if review.bad <= batch.allowed_bad else "Decide"
