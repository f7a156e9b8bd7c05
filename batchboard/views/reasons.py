"""Why a batch stands still, in plain words: what it waits for, how long, and who must move."""

from dataclasses import dataclass
from datetime import datetime

from batchboard.models import Batch, Mode
from batchboard.states import OPEN_BATCH, BatchState, Block, Wait
from batchboard.templatetags.figures import whole_span
from batchboard.views.review_progress import ReviewProgress

SMALL_BATCH = 15


@dataclass(frozen=True)
class Reason:
    """A sentence with the tone of who must move; it ends in `until` or, after `joint`, in `since`,
    where given."""

    tone: str
    icon: str
    text: str
    until: datetime | None = None
    since: datetime | None = None
    joint: str = ", "


BLOCKED = {
    Block.BUDGET: "budget spent",
    Block.CEILING: "the installation's ceiling is spent",
    Block.FIRST_LOOK: "the first items wait for a look",
    Block.DEADLINE: "its time is over",
    Block.KEY_REFUSED: "the provider refused the key or the model",
    Block.UNPRICED: "no price of its model is known",
    Block.SPEND_CAP: "the provider's spend limit is reached",
}
HELP = {
    Block.BUDGET: "Give it more money, or cancel the rest.",
    Block.CEILING: "Raise the ceiling of the installation: what it holds up goes on by itself.",
    Block.FIRST_LOOK: "Look at what came back, then resume or cancel.",
    Block.DEADLINE: "Resume starts its time anew.",
    Block.KEY_REFUSED: "Start with an ANTHROPIC_API_KEY that may use the model, then resume.",
    Block.UNPRICED: "Have an administrator enter its price on the limits page.",
    Block.SPEND_CAP: "Raise the limit with the provider, then resume.",
}
SILENT = {
    Wait.OVERLOADED: "Provider overloaded (529)",
    Wait.SERVER_FAILS: "Provider fails (5xx)",
    Wait.UNREACHABLE: "Provider out of reach",
}
TIMED = {
    Wait.PROVIDER_PAUSE: (
        "pause", "Rate limited (429): resumes in", "Rate limited (429): resumes now"
    ),
    Wait.BACKOFF: ("clock", "Waits before a retry: goes on in", "Waits before a retry"),
    **{
        wait: ("alert", f"{said}: asked again in", f"{said}: asked again now")
        for wait, said in SILENT.items()
    },
}  # fmt: skip
"""What ends at a known time: an icon, what is said before that time, and what without it."""

WAITS = {
    Wait.SLOT: "Waits for a free slot",
    Wait.REQUESTS: "Waits for requests per minute",
    Wait.INPUT_TOKENS: "Waits for input tokens per minute",
    Wait.OUTPUT_TOKENS: "Waits for output tokens per minute",
    Wait.MONEY: "Waits for money held for calls in flight",
    Wait.CACHE: "Waits for the first answer to begin: it writes the cache",
    Wait.WAVE: "Waits for the rest of its wave",
    Wait.WORKER: "Waits for a worker",
    Wait.PAUSED_ALL: "Waits: everything is paused",
    Wait.PROVIDER: "With the provider",
}


def reason(
    batch: Batch,
    *,
    now: datetime,
    workers: int,
    paused_at: datetime | None = None,
    review: ReviewProgress | None = None,
    submitted: Reason | None = None,
    last: Reason | None = None,
) -> Reason | None:
    """Why `batch` does not move, or None where it does or has ended. `submitted` says where its
    message batches stand, `last` which of its items are waited for at the end."""
    if batch.state in OPEN_BATCH | {BatchState.PAUSED} and batch.blocked:
        words = f"Blocked: {BLOCKED.get(Block(batch.blocked), '')}"
        return Reason("person", "alert", words, since=batch.blocked_at)
    if batch.state == BatchState.PAUSED:
        return _paused(batch, paused_at)
    if batch.state in OPEN_BATCH:
        return submitted or _waiting(batch, now, workers, last)
    if batch.state == BatchState.REVIEW:
        return _review(review or ReviewProgress(), batch)
    if batch.state == BatchState.DRAFT and 0 < batch.total < SMALL_BATCH:
        return Reason("wait", "scales", f"Under {SMALL_BATCH} items: batching gains little")
    return submitted


def _paused(batch: Batch, paused_at: datetime | None) -> Reason:
    by = f"Paused by {batch.paused_by}" if batch.paused_by else "Paused"
    return Reason("wait", "pause", by, since=paused_at)


def last_items(batch: Batch, count: int, sent_at: datetime) -> Reason:
    """Nothing is left but items that were sent: one that hangs is waited for to its timeout."""
    items = "its last item" if count == 1 else f"its last {count:,} items"
    oldest = ": sent " if count == 1 else ": the oldest sent "
    words = f"Waits for {items}, cut off after {whole_span(batch.item_timeout)}"
    return Reason("run", "clock", words, since=sent_at, joint=oldest)


def _waiting(batch: Batch, now: datetime, workers: int, last: Reason | None) -> Reason | None:
    if batch.mode != Mode.PROVIDER_BATCH and (not workers or batch.waits_for == Wait.WORKER):
        return Reason("hold", "clock", "Waits for a worker: none takes work")
    until = batch.waits_until if batch.waits_until and batch.waits_until > now else None
    if batch.waits_for in TIMED:
        icon, before, at_once = TIMED[Wait(batch.waits_for)]
        return Reason("hold", icon, before if until else at_once, until=until)
    if batch.waits_for:
        return Reason("hold", "clock", WAITS[Wait(batch.waits_for)])
    if batch.state == BatchState.QUEUED:
        return Reason("hold", "clock", "Waits for its first call")
    return last


def _review(review: ReviewProgress, batch: Batch) -> Reason:
    if review.drawn and review.judged == review.drawn:
        return Reason("person", "check", review.words)
    if review.judged or review.judging:
        return Reason("person", "eye", review.words)
    return Reason("person", "eye", review.words, since=batch.finished_at, joint=": ended ")
