"""The requests of a submission, made of its attempts, and the ids that tell whose a result is."""

import logging
from collections.abc import Iterator
from typing import Any

from batchboard.models import Attempt, ItemInput, Submission
from batchboard.pricing import Usage
from dispatch.calls import Reply
from dispatch.holding import Held
from dispatch.modes import MODES
from dispatch.modes.work import Framing, ItemWork
from dispatch.outcome import Outcome
from dispatch.submission_ending import GROUP, settle
from dispatch.versions import work_of

log = logging.getLogger(__name__)


def requests_of(held: Held) -> Iterator[tuple[str, dict[str, Any]]]:
    """The requests of all attempts. What no request can be made of ends here."""
    row = held.row
    work, mode = work_of(row.batch.version_id), MODES[row.batch.mode]
    for attempts in _pages(row):
        inputs = ItemInput.objects.filter(pk__in=[one.item_id for one in attempts])
        data = dict(inputs.values_list("pk", "data"))
        broken = []
        for one in attempts:
            framing = Framing(one.cache, row.batch.cache_salt)
            try:
                item = ItemWork(one.item.key, data[one.item_id])
                request = mode.request(work, [item], one.max_tokens, framing)
            except Exception as error:
                log.exception("attempt %s could not be made", one.pk)
                problem = f"{type(error).__name__}: {error}"[:300]
                broken.append((one, Reply(Outcome.UNKNOWN, problem, usage=Usage())))
            else:
                yield custom_id(row, one.pk), request
        settle(held, broken)


def _pages(row: Submission) -> Iterator[list[Attempt]]:
    """Its attempts, a few at a time; what is written in between disturbs nothing."""
    last = 0
    while page := list(
        row.waiting_attempts.filter(pk__gt=last).select_related("item", "price")[:GROUP]
    ):
        yield page
        last = page[-1].pk


def custom_id(row: Submission, attempt: int) -> str:
    """What the provider repeats with the result of an attempt."""
    return f"{row.public_id}-{attempt}"


def is_ours(row: Submission, custom_id: str) -> bool:
    """Whether a result is of this submission."""
    return custom_id.startswith(f"{row.public_id}-")


def attempt_of(row: Submission, custom_id: str) -> int | None:
    """The attempt that a result is of; None where it is of none of this submission."""
    number = custom_id.rpartition("-")[2]
    ours = is_ours(row, custom_id) and number.isascii() and number.isdigit()
    return int(number) if ours else None
