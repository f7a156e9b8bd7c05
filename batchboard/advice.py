"""What an experienced colleague would say before a batch starts. Advice never blocks."""

from collections import Counter
from dataclasses import dataclass

from batchboard.durations import in_words
from batchboard.estimate import Estimate
from batchboard.models import Limits, Mode, suggested_deadline
from batchboard.preparing import WRITE, Prepared
from batchboard.templatetags.figures import forecast
from dispatch import asked_schema

FEW_ITEMS = 15
FIRST_ITEMS = 20
CROWDED = 0.8
UNLIKE = 10
_NARROW_SPACE = "\u202f"


@dataclass(frozen=True)
class Action:
    """A button that puts a value into a field."""

    label: str
    field: str
    value: str


@dataclass(frozen=True)
class Advice:
    """A sentence in two parts, with the tone of who it is for and what would follow it."""

    tone: str
    icon: str
    lead: str
    text: str
    actions: tuple[Action, ...] = ()


def advice(
    prepared: Prepared, estimate: Estimate | None, limits: Limits, *, ran: bool
) -> list[Advice]:
    """`ran` says whether the task type ever ran."""
    if not prepared.rows:
        return []
    found = [
        _crowded(prepared, estimate, limits),
        _never_ran(prepared, ran),
        _deadline(prepared, estimate, limits),
        _rounds(prepared),
        _few(prepared),
        _unlike(prepared.sizes()),
        _unenforced(prepared),
    ]
    return [one for one in found if one]


def at_once(prepared: Prepared, limits: Limits) -> int:
    """The number in flight that the form asks for, under the cap; the provider's own batches know
    none."""
    asked = prepared.options.concurrency or limits.cap
    return asked if prepared.options.mode == Mode.PROVIDER_BATCH else min(asked, limits.cap)


def ceiling_share(prepared: Prepared, estimate: Estimate, limits: Limits) -> float:
    """What share of the provider's own limits so many calls in flight would use."""
    allowed = estimate.full_concurrency / float(limits.configured("headroom"))
    return at_once(prepared, limits) / allowed if allowed else 0.0


def _crowded(prepared: Prepared, estimate: Estimate | None, limits: Limits) -> Advice | None:
    if estimate is None or prepared.rows < at_once(prepared, limits):
        return None
    share = ceiling_share(prepared, estimate, limits)
    if share <= CROWDED:
        return None
    n, better = at_once(prepared, limits), estimate.recommended_concurrency
    if share < 1:
        lead = f"N {n:,} is {share * 100:.0f}{_NARROW_SPACE}% of the request ceiling."
    else:
        lead = f"N {n:,} is {share:.1f} times what the request ceiling can serve."
    return Advice(
        "hold",
        "clock",
        lead,
        f"Above 80{_NARROW_SPACE}% you get 429s, not speed.",
        (Action(f"Use {better:,}", "concurrency", str(better)),) if better < n else (),
    )


def _never_ran(prepared: Prepared, ran: bool) -> Advice | None:
    if ran or prepared.definition is None or prepared.rows <= FIRST_ITEMS:
        return None
    if prepared.options.first_look:
        return None
    return Advice(
        "person",
        "eye",
        "This task type never ran.",
        f"Try {FIRST_ITEMS} items first and look at them.",
        (
            Action(f"Make it a batch of {FIRST_ITEMS}", "only_first", str(FIRST_ITEMS)),
            Action("Stop for a first look", "first_look", "on"),
        ),
    )


def _deadline(prepared: Prepared, estimate: Estimate | None, limits: Limits) -> Advice | None:
    options = prepared.options
    if options.deadline is None:
        return None
    seconds = suggested_deadline(prepared.rows, options, limits.cap)
    enough = in_words(seconds)
    if options.mode == Mode.PROVIDER_BATCH:
        if options.deadline >= seconds:
            return None
        return Advice(
            "hold",
            "clock",
            "The deadline may come before the results.",
            "The provider may take 24 h. What comes later still counts and is paid.",
            (Action(f"Use {enough}", "deadline", enough),),
        )
    n = at_once(prepared, limits)
    if prepared.rows > n and options.deadline <= options.item_timeout:
        is_less = options.deadline < options.item_timeout
        lead = f"The deadline is {'less than ' if is_less else ''}one item's timeout."
        text = f"A run of {prepared.rows:,} items at N {n:,} ends in its first round."
    elif estimate is not None and options.deadline < estimate.seconds:
        lead = "The deadline comes before the end."
        text = f"The run needs {forecast(estimate.seconds)}; what is left by then waits, blocked."
    else:
        return None
    return Advice("hold", "clock", lead, text, (Action(f"Use {enough}", "deadline", enough),))


def _rounds(prepared: Prepared) -> Advice | None:
    n = prepared.options.concurrency or prepared.rows
    if prepared.options.mode != Mode.PROVIDER_BATCH or prepared.rows <= n:
        return None
    return Advice(
        "hold",
        "clock",
        f"{-(-prepared.rows // n):,} message batches, one after the other.",
        "Each usually takes under an hour, and up to 24 h. Without N all are sent together.",
        (Action("Send all together", "concurrency", ""),),
    )


def _few(prepared: Prepared) -> Advice | None:
    if prepared.rows >= FEW_ITEMS:
        return None
    return Advice(
        "wait",
        "scales",
        f"Under {FEW_ITEMS} items: batching gains little.",
        "There is hardly anything to share between so few calls.",
        (Action("Use single calls", "mode", "single"),)
        if prepared.options.mode != "single"
        else (),
    )


def _unlike(sizes: Counter[int]) -> Advice | None:
    if sizes.total() < FEW_ITEMS:
        return None
    half, seen, middle = sizes.total() / 2, 0, 1
    for size in sorted(sizes):
        seen += sizes[size]
        middle = size
        if seen >= half:
            break
    times = max(sizes) / max(1, middle)
    if times < UNLIKE:
        return None
    return Advice(
        "wait",
        "scales",
        "Items differ in length.",
        f"The longest is {times:,.0f} times the middle one; the worst case allows for it.",
    )


def _unenforced(prepared: Prepared) -> Advice | None:
    """The editor says it beside the contract while one is written."""
    if prepared.definition is None or prepared.fields.get("task_type") == WRITE:
        return None
    note = asked_schema.advice(prepared.definition.contract)
    return (
        Advice("hold", "alert", "Part of the contract is only asked for.", note) if note else None
    )
