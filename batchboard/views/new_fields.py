"""The fields of the new-batch form as the page shows them: value, hint, and what is wrong."""

from dataclasses import dataclass, field
from math import ceil

from batchboard.advice import Action, at_once
from batchboard.durations import in_words
from batchboard.estimate import Estimate
from batchboard.models import Limits, Mode, Schedule, suggested_deadline
from batchboard.models.run_options import GROUP_SIZES, SESSION_SECONDS
from batchboard.preparing import Prepared
from batchboard.sampling import chance_of_seeing, default_size
from batchboard.templatetags.figures import share, span, usd

BAD_SHARE = 0.05
MODES = (
    (Mode.SINGLE, "single", "Every item is a call of its own and nothing is shared."),
    (Mode.CACHED, "cached", "A call per item; the shared context is cached and paid for once."),
    (Mode.SESSION, "session", "One conversation works through several items in turn."),
    (Mode.PACKED, "packed", "Several items in one call. Accuracy falls as more share it."),
    (
        Mode.PROVIDER_BATCH,
        "provider batch",
        "The provider works through all of them in its own time: half the price, usually under an"
        " hour, up to 24 h.",
    ),
)
GROUPS = {
    Mode.SESSION: ("Items in a session, S", "After so many a new conversation starts"),
    Mode.PACKED: ("Items in a call, k", "Fewer are answered better, more cost less"),
}
SCHEDULES = (
    (Schedule.WINDOW, "window", "A slot freed is a slot filled."),
    (Schedule.WAVES, "waves", "N at once, wait for all, then the next N."),
)
PRIORITIES = (("low", "Low", ""), ("normal", "Normal", ""), ("high", "High", ""))


@dataclass
class Field:
    """One text field."""

    name: str
    label: str
    value: str = ""
    placeholder: str = ""
    unit: str = ""
    hint: str = ""
    error: str = ""
    actions: list[Action] = field(default_factory=list)
    numeric: bool = False


@dataclass
class Choice:
    """One of a few, shown side by side."""

    name: str
    label: str
    value: str
    options: list[tuple[str, str, str]]

    @property
    def hint(self) -> str:
        return next((says for value, _, says in self.options if value == self.value), "")


def choices(prepared: Prepared) -> dict[str, Choice]:
    priority = prepared.fields.get("priority", "normal")
    return {
        "mode": Choice("mode", "Request mode", prepared.options.mode, _plain(MODES)),
        "schedule": Choice("schedule", "Schedule", prepared.options.schedule, _plain(SCHEDULES)),
        "priority": Choice("priority", "Priority", priority, list(PRIORITIES)),
    }


def fields(prepared: Prepared, estimate: Estimate | None, limits: Limits) -> dict[str, Field]:
    found = [
        _concurrency(prepared, estimate, limits),
        _budget(estimate),
        _timeout(prepared, estimate),
        _deadline(prepared, limits),
        *_grouping(prepared),
        Field("name", "Name", hint="Suggested from the task type and the date"),
        _sample(prepared),
        Field(
            "only_first",
            "Only the first",
            placeholder="all",
            unit="rows",
            numeric=True,
            hint="Empty: every row",
        ),
    ]
    for one in found:
        one.value = prepared.fields.get(one.name, "")
        if problem := prepared.problems.get(one.name):
            one.error = problem.message
            one.actions = (
                [Action(problem.label or f"Use {problem.value}", one.name, problem.value)]
                if problem.value
                else []
            )
    named = {one.name: one for one in found}
    named["name"].value = prepared.name
    return named


def _concurrency(prepared: Prepared, estimate: Estimate | None, limits: Limits) -> Field:
    found = Field(
        "concurrency",
        "Calls at once, N",
        placeholder=str(limits.cap),
        unit=f"cap {limits.cap:,}",
        hint="Empty: as many as the cap",
        numeric=True,
    )
    if prepared.options.mode == Mode.PROVIDER_BATCH:
        found.label, found.unit = "Requests at once, N", "with the provider"
        found.placeholder = "all"
        found.hint = "Empty: all of them are sent together"
        return found
    if estimate is None:
        return found
    most = min(limits.cap, prepared.rows)
    low = max(1, min(most, round(estimate.full_concurrency * 0.6)))
    high = max(1, min(most, round(estimate.full_concurrency * 0.8)))
    if low >= most:
        found.hint = f"Recommended: {most:,}. The limits leave room for more than the cap"
        if most < limits.cap:
            found.hint = f"Recommended: {most:,}, one for each item"
    else:
        found.hint = f"Recommended: {low:,} to {high:,}, 60 to 80\u202f% of what the limits allow"
    better = estimate.recommended_concurrency
    if low < most and not low <= at_once(prepared, limits) <= high:
        found.actions = [Action(f"Use {better:,}", "concurrency", str(better))]
    return found


def _budget(estimate: Estimate | None) -> Field:
    hint = "Empty: no limit of its own"
    actions = []
    if estimate is not None and estimate.worst is None:
        hint = "None without a known price: it could not hold"
    elif estimate is not None and estimate.worst is not None:
        hint = f"Worst case is {usd(estimate.worst)}"
        enough = f"{ceil(estimate.worst * 100) / 100:.2f}"
        actions = [Action("Use it", "budget", enough)]
    return Field("budget", "Budget", placeholder="none", unit="$", hint=hint, actions=actions)


def _timeout(prepared: Prepared, estimate: Estimate | None) -> Field:
    hint = "For one call"
    if prepared.options.mode == Mode.PROVIDER_BATCH:
        hint = "Does not apply: the provider takes up to 24 h"
    elif estimate is not None:
        hint = f"One call takes about {span(estimate.latency)}"
    return Field("item_timeout", "Item timeout", placeholder="120 s", hint=hint)


def _deadline(prepared: Prepared, limits: Limits) -> Field:
    found = Field("deadline", "Deadline", placeholder="none", hint="From start to end")
    if prepared.rows:
        n = at_once(prepared, limits)
        enough = in_words(suggested_deadline(prepared.rows, n, prepared.options.item_timeout))
        found.hint = f"{enough} is enough even if every call takes its whole timeout."
        found.actions = [Action(f"Use {enough}", "deadline", enough)]
    return found


def _grouping(prepared: Prepared) -> list[Field]:
    """How many items share a call or a conversation, where any do."""
    mode = Mode(prepared.options.mode)
    if mode not in GROUPS:
        return []
    label, hint = GROUPS[mode]
    usual = str(GROUP_SIZES[mode])
    found = [Field("group_size", label, placeholder=usual, unit="items", hint=hint, numeric=True)]
    if mode == Mode.SESSION:
        found.append(
            Field(
                "session_timeout",
                "Session timeout",
                placeholder=in_words(SESSION_SECONDS),
                hint="For the whole, beside each item's own",
            )
        )
    return found


def _sample(prepared: Prepared) -> Field:
    found = Field("sample_size", "Sample", unit="items", numeric=True)
    if not prepared.rows:
        found.hint = "How many results a reviewer looks at"
        return found
    usual = default_size(prepared.rows)
    size = min(prepared.rows, max(prepared.options.sample_size or usual, min(3, prepared.rows)))
    found.placeholder, found.unit = str(usual), f"of {prepared.rows:,}"
    if size == prepared.rows:
        found.hint = "Every result is looked at"
        return found
    bad = max(1, ceil(prepared.rows * BAD_SHARE))
    seen = share(int(chance_of_seeing(prepared.rows, bad, size) * 100) / 100)
    found.hint = f"Were {bad:,} of {prepared.rows:,} bad, {size:,} would show one with {seen}"
    return found


def _plain(options: tuple[tuple[str, str, str], ...]) -> list[tuple[str, str, str]]:
    return [(str(value), label, says) for value, label, says in options]
