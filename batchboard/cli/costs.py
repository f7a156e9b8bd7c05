"""What `manage.py costs` does: collects two or more ways of working, and shows the comparison."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

from django.core.management.base import CommandError
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from batchboard.arms import Past, arms_of, modes_that_ran, past_arms
from batchboard.cli.refusals import BAD_INPUT
from batchboard.cli.terminal import Terminal, printable
from batchboard.compare import ArmData, ArmResult, Comparison, Interval, Pairing, compare
from batchboard.compare.words import between, change, percent, simulated, under_way, usd
from batchboard.models import Experiment, Mode, TaskType
from batchboard.money import dollars
from batchboard.summary import number
from batchboard.wording import many

UNKNOWN = "–"
NAMED = 8
"""Of task types, where none is meant by a name."""

FILTERS = ("mode", "version", "since", "until")
_COLUMNS = (
    "arm", "cost per task", "against before", "passed", "failed", "from cache", "per hour",
    "verdict",
)  # fmt: skip
_WIDEST = 1_000
STYLES = {"ok": "green", "dead": "red", "person": "magenta", "wait": "bold"}


def costs(options: dict[str, Any]) -> None:
    if options["experiment"]:
        _costs_of_experiment(options)
        return
    if options["task_type"] is None:
        raise _bad("Name a task type, or an experiment with --experiment ID.")
    task_type = _find(options["task_type"])
    sets, why = _sets(task_type, options["before"], options["after"] or [])
    arms = past_arms(task_type, [(past, "") for past in sets])
    empty = [arm.label for arm in arms if not arm.items]
    if empty:
        why = f"Nothing to compare: no batch of {task_type.name} ended in {' and '.join(empty)}."
        if going := sum(arm.under_way for arm in arms):
            why += f" {many(going, 'batch is', 'batches are')} still under way."
    if why:
        _say_nothing(why, as_json=options["json"])
        return
    show(_labelled(arms), paired=False, as_json=options["json"])


def _costs_of_experiment(options: dict[str, Any]) -> None:
    if options["task_type"] or options["before"] or options["after"]:
        raise _bad("An experiment names what is compared itself: give --experiment ID alone.")
    experiment = Experiment.objects.with_arms().get(public_id=options["experiment"])
    arms, pairing = arms_of(experiment)
    empty = [arm.label for arm in arms if not arm.items]
    if empty:
        why = f"Nothing to compare yet: no item ended in {' and '.join(empty)}."
        _say_nothing(why, as_json=options["json"])
        return
    show(arms, paired=pairing, as_json=options["json"])


def show(arms: list[ArmData], *, paired: bool | Pairing, as_json: bool) -> None:
    """Compare `arms` and print what comes of it."""
    comparison = compare(arms, paired=paired)
    if as_json:
        print(json.dumps(comparison_summary(comparison)))
        return
    print_comparison(Terminal(soft_wrap=True), comparison)


def print_comparison(console: Console, comparison: Comparison) -> None:
    """The arms, the verdict in words, what to do next."""
    table = _table(comparison)
    wide = console.options.update(width=_WIDEST)
    if Measurement.get(console, wide, table).maximum > console.width:
        table = _narrow(comparison)
    console.print(table)
    console.print()
    console.print(Text(_shown(comparison.headline), style=STYLES[comparison.tone]))
    if comparison.detail:
        console.print(Text(_shown(comparison.detail)))
    for one in comparison.arms:
        if one is not comparison.chosen:
            said = (
                one.sentence
                if one.sentence.startswith(one.words)
                else f"{one.words}. {one.sentence}"
            )
            console.print(Text(_shown(f"{one.data.label}: {said}")))
    for sentence in filter(None, (*under_way(comparison), simulated(comparison))):
        console.print(Text(_shown(sentence)))
    for advice in comparison.advice:
        console.print(Text(_shown(f"- {advice.strong} {advice.text}")))


def comparison_summary(comparison: Comparison) -> dict[str, Any]:
    """A comparison in plain values: dollars, shares, tokens per task."""
    return {
        "headline": comparison.headline,
        "detail": comparison.detail,
        "more_needed": comparison.more_needed,
        "same_items": comparison.same_items,
        "before": _arm_summary(comparison.before),
        "arms": [_arm_summary(one) for one in comparison.arms],
        "advice": [
            {"kind": advice.kind, "text": f"{advice.strong} {advice.text}"}
            for advice in comparison.advice
        ],
    }


def _find(name: str) -> TaskType:
    found = TaskType.objects.filter(name=name).first()
    if found is not None:
        return found
    names = list(TaskType.objects.values_list("name", flat=True))
    near = get_close_matches(name, names, n=1)
    hint = f" There are {', '.join(map(repr, sorted(names)[:NAMED]))}." if names else ""
    if near:
        hint = f" Did you mean {near[0]!r}?"
    if not names:
        hint = " No task type ran yet."
    raise CommandError(_shown(f"There is no task type {name!r}.{hint}"), returncode=BAD_INPUT)


def _sets(task_type: TaskType, before: str | None, after: list[str]) -> tuple[list[Past], str]:
    """The sets to compare, or why there are none."""
    if bool(before) != bool(after):
        missing = "--after" if before else "--before"
        raise CommandError(
            f"Give both or none: {missing} is missing. With none, the two modes that ran last are"
            " compared.",
            returncode=BAD_INPUT,
        )
    if before:
        return [_past(text) for text in (before, *after)], ""
    modes = modes_that_ran(task_type)
    if len(modes) >= 2:
        return [Past(mode=modes[1]), Past(mode=modes[0])], ""
    if not modes:
        return [], f"Nothing to compare: no batch of {task_type.name} ended yet."
    return [], (
        f"Nothing to compare: {task_type.name} ran in one mode only, {modes[0]}. Run a batch in"
        " another, or name two sets with --before and --after."
    )


def _past(text: str) -> Past:
    given: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in FILTERS:
            raise _bad(
                f"{part.strip()!r} is not a filter: give {', '.join(FILTERS)}, such as mode=single."
            )
        if key in given:
            raise _bad(f"{key} is given twice in {text!r}.")
        given[key] = _value(key, value)
    since, until = given.get("since"), given.get("until")
    if since and until and since >= until:
        raise _bad(f"Nothing lies between since and until in {text!r}: until is the day after.")
    return Past(**given)


def _value(key: str, value: str) -> Any:
    if key == "mode":
        if value not in Mode.values:
            raise _bad(f"There is no mode {value!r}: the modes are {', '.join(Mode.values)}.")
        return value
    if key == "version":
        if not value.isascii() or not value.isdigit() or not 1 <= int(value[:10]) <= 10**9:
            raise _bad(f"{value!r} is not a version: give its number, such as version=2.")
        return int(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise _bad(f"{value!r} is not a day: write it as {key}=2026-01-31.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _bad(message: str) -> CommandError:
    return CommandError(_shown(message), returncode=BAD_INPUT)


def _labelled(arms: list[ArmData]) -> list[ArmData]:
    """Two sets may have the same words, and are told apart all the same."""
    labels = [arm.label for arm in arms]
    return [
        replace(arm, label=f"{arm.label} ({place})") if labels.count(arm.label) > 1 else arm
        for place, arm in enumerate(arms, start=1)
    ]


def _say_nothing(why: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"headline": None, "why": why}))
    else:
        Terminal(soft_wrap=True).print(_shown(why))


def _table(comparison: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    first, *numbers, last = _COLUMNS
    table.add_column(first, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(last)
    for one in (comparison.before, *comparison.arms):
        table.add_row(*(Text(_shown(cell)) for cell in _cells(one)))
    return table


def _narrow(comparison: Comparison) -> Table:
    """The same below one another, for a terminal in which no table fits."""
    table = Table.grid(padding=(0, 2))
    for one in (comparison.before, *comparison.arms):
        for name, cell in zip(_COLUMNS, _cells(one), strict=True):
            table.add_row(Text(name, style="dim"), Text(_shown(cell)))
        table.add_row()
    return table


def _shown(text: str) -> str:
    """Text for a terminal; the narrow space before a percent sign is not in every font."""
    return printable(text.replace("\u202f", " "))


def _cells(one: ArmResult) -> tuple[str, ...]:
    return (
        one.data.label,
        _cost(one),
        _against(one.change),
        _share(one.pass_share),
        _share(one.failure_share),
        _share(one.cache_share),
        UNKNOWN if one.tasks_per_hour is None else f"{one.tasks_per_hour:,.0f}",
        one.words,
    )


def _cost(one: ArmResult) -> str:
    cost = one.cost_per_task
    if cost is None:
        return UNKNOWN
    if cost.low is None or cost.high is None or usd(cost.low) == usd(cost.high):
        return usd(cost.mid)
    return f"{usd(cost.mid)} ({usd(cost.low)}–{usd(cost.high)})"


def _against(found: Interval[float] | None) -> str:
    if found is None:
        return UNKNOWN
    if found.low is None or found.high is None or found.low <= 0 <= found.high:
        return between(found)
    return ("−" if found.mid < 0 else "+") + change(found)


def _share(share: float | None) -> str:
    return UNKNOWN if share is None else percent(share)


def _arm_summary(one: ArmResult) -> dict[str, Any]:
    arm, cost = one.data, one.cost_per_task
    tokens = arm.tokens_per_task()
    return {
        "label": arm.label,
        "mode": arm.mode,
        "model": arm.model,
        "verdict": str(one.verdict),
        "words": one.words,
        "sentence": one.sentence,
        "quality": one.quality,
        "items": arm.items,
        "succeeded": arm.succeeded,
        "dead": arm.dead,
        "calls": arm.calls,
        "attempts": arm.attempts,
        "failed_attempts": arm.failed_attempts,
        "lost": arm.lost,
        "batches_under_way": arm.under_way,
        "items_left": arm.left,
        "simulated": arm.simulated,
        "cost_per_task_usd": cost
        and {"low": number(cost.low), "mid": number(cost.mid), "high": number(cost.high)},
        "change": one.change
        and {"low": one.change.low, "mid": one.change.mid, "high": one.change.high},
        "unknown_cost_usd": number(dollars(arm.unknown)),
        "tokens_per_task": tokens,
        "cache_share": one.cache_share,
        "tasks_per_hour": one.tasks_per_hour,
        "latency_ms": {"median": arm.latency_median_ms, "p95": arm.latency_p95_ms},
        "judged": arm.judged,
        "pass_share": one.pass_share,
        "failure_share": one.failure_share,
    }
