"""What each `manage.py experiment …` does. One function a command; each returns the exit status."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from batchboard import experimenting, intake
from batchboard.arm_text import ArmPlan, labels_of, read_arm
from batchboard.arms import arms_of
from batchboard.cli.commands import messages
from batchboard.cli.costs import comparison_summary, print_comparison
from batchboard.cli.refusals import BLOCKED, DEAD_ITEMS, DONE
from batchboard.cli.terminal import Terminal, printable
from batchboard.cli.watching import INTERVAL_SECONDS, bar, exit_status, warn_without_worker
from batchboard.compare import Comparison, compare
from batchboard.experimenting import Foreseen
from batchboard.models import Experiment, ExperimentState, NewItem
from batchboard.models.batch import new_seed
from batchboard.summary import number, stamp
from batchboard.task_definition import TaskDefinition
from batchboard.templatetags.figures import forecast as in_words

Options = dict[str, Any]
OVER = {ExperimentState.ENDED, ExperimentState.CANCELLED, ExperimentState.BLOCKED}


def estimate(options: Options) -> int:
    definition, arms, items, _ = _plan(options)
    counted = experimenting.count(definition, items)
    version = intake.stored_version(definition)
    sizes = experimenting.sizes_of(items)
    found = experimenting.foresee(definition, sizes, arms, counted, version)
    if options["json"]:
        _line({"n": len(items)} | _foreseen(arms, found))
        return DONE
    _print_estimate(Terminal(), arms, found, len(items))
    return DONE


def run(options: Options) -> int:
    definition, arms, items, seed = _plan(options)
    experiment = experimenting.create(
        definition,
        items,
        arms,
        seed=seed,
        budget=options["budget"],
        source="standard input" if options["items"] == "-" else Path(options["items"]).name,
        name=options["name"],
        sample_size=options["sample"],
    )
    if not options["json"]:
        _print_plan(experiment)
    experiment.start()
    warn_without_worker(messages)
    if options["wait"]:
        _watch(experiment, quiet=bool(options["json"]))
    experiment = _found(experiment.public_id)
    if options["json"]:
        _line(summary(experiment))
    elif options["wait"]:
        _print_outcome(experiment)
    else:
        Terminal(soft_wrap=True).print(_sentence(experiment))
    return _status(experiment) if options["wait"] else DONE


def list_(options: Options) -> int:
    found = Experiment.objects.with_arms()
    if options["json"]:
        print(json.dumps([_facts(experiment) for experiment in found]))
        return DONE
    table = Table("id", "state", "name", "items", "arms", "cost", box=None, pad_edge=False)
    for experiment in found:
        table.add_row(
            experiment.public_id,
            str(experiment.state),
            Text(printable(experiment.name)),
            f"{experiment.n:,}",
            Text(", ".join(arm.label for arm in experiment.arms.all())),
            f"${sum(batch.cost for batch in experiment.batches):.4f}",
        )
    Terminal().print(table)
    return DONE


def show(options: Options) -> int:
    experiment = _found(options["id"])
    if options["json"]:
        _line(summary(experiment))
    else:
        _print_outcome(experiment)
    return DONE


def cancel(options: Options) -> int:
    experiment = _found(options["id"])
    experiment.cancel()
    experiment = _found(options["id"])
    if options["json"]:
        _line(summary(experiment))
    else:
        Terminal(soft_wrap=True).print(_sentence(experiment))
    return DONE


def summary(experiment: Experiment) -> dict[str, Any]:
    """An experiment in plain values, with its comparison as soon as there is one."""
    found = _compared(experiment)
    return _facts(experiment) | {"comparison": found and comparison_summary(found)}


def _plan(options: Options) -> tuple[TaskDefinition, list[ArmPlan], list[NewItem], str]:
    """What to run: nothing is stored yet, whatever is wrong with it."""
    arms = [read_arm(text) for text in options["arm"] or []]
    experimenting.check_arms(arms)
    definition = intake.read_task_file(Path(options["task_type"]).read_bytes())
    seed = options["seed"] or new_seed()
    with intake.open_items(options["items"], definition, sys.stdin.buffer) as items:
        drawn = experimenting.draw_rows(items, options["n"], seed)
    return definition, arms, drawn, seed


def _found(public_id: str) -> Experiment:
    return Experiment.objects.with_arms().get(public_id=public_id)


def _compared(experiment: Experiment) -> Comparison | None:
    """The comparison, once an item ended in every arm."""
    if not all(batch.succeeded + batch.dead for batch in experiment.batches):
        return None
    return compare(arms_of(experiment), paired=True)


def _watch(experiment: Experiment, *, quiet: bool) -> None:
    """Until nothing goes on by itself any more. Unless `quiet`, a live view shows how it goes."""
    if quiet:
        for _ in _until_over(experiment):
            pass
        return
    with Live(console=messages, refresh_per_second=4, transient=True) as live:
        for now in _until_over(experiment):
            live.update(_progress(now))


def _until_over(experiment: Experiment) -> Iterator[Experiment]:
    while (now := _found(experiment.public_id)).state not in OVER:
        yield now
        time.sleep(INTERVAL_SECONDS)


def _status(experiment: Experiment) -> int:
    """As of a batch: blocked before dead items, whichever arm it is."""
    found = {exit_status(batch) for batch in experiment.batches}
    return next((status for status in (BLOCKED, DEAD_ITEMS) if status in found), DONE)


def _progress(experiment: Experiment) -> Table:
    table = Table.grid(padding=(0, 2))
    for arm in experiment.arms.all():
        batch = arm.batch
        cost = f"${batch.cost:.4f} of est. ${batch.estimate_expected or 0:.4f}"
        table.add_row(Text(arm.label, style="bold"), bar(batch, batch.live_items), cost)
    return table


def _print_plan(experiment: Experiment) -> None:
    """What it will cost, before anything is sent."""
    batches = experiment.batches
    expected = sum(batch.estimate_expected or 0 for batch in batches)
    worst = sum(batch.estimate_worst or 0 for batch in batches)
    budget = "no budget" if experiment.budget is None else f"budget ${experiment.budget:.4f}"
    messages.print(printable(f"{experiment.public_id}: {experiment.name}"))
    messages.print(
        f"{experiment.n:,} items in {len(batches)} arms: about ${expected:.4f},"
        f" at worst ${worst:.4f}; {budget}; seed {printable(experiment.seed)}",
    )
    if experiment.budget is not None and experiment.budget < expected:
        messages.print("The budget is below that: arms will stop before their end.", style="yellow")


def _print_outcome(experiment: Experiment) -> None:
    console = Terminal(soft_wrap=True)
    console.print(_sentence(experiment))
    for arm in experiment.arms.all():
        batch = arm.batch
        blocked = f", blocked: {batch.blocked_detail or batch.blocked}" if batch.blocked else ""
        console.print(
            printable(
                f"  {arm.label}: {batch.public_id} {batch.state}{blocked}, {batch.succeeded:,} of"
                f" {batch.total:,} succeeded, {batch.dead} dead, ${batch.cost:.4f}"
            ),
        )
    found = _compared(experiment)
    if found is None:
        console.print("Nothing to compare yet: no item ended in some of the arms.")
        return
    console.print()
    print_comparison(console, found)


def _print_estimate(console: Console, arms: list[ArmPlan], found: Foreseen, n: int) -> None:
    table = Table("arm", "expected", "at worst", "time", box=None, pad_edge=False)
    for label, one in zip(labels_of(arms), found.arms, strict=True):
        table.add_row(label, f"${one.expected:.4f}", f"${one.worst:.4f}", in_words(one.seconds))
    together = in_words(found.seconds)
    table.add_row("together", f"${found.expected:.4f}", f"${found.worst:.4f}", together)
    console.print(f"{n:,} items in each of {len(arms)} arms, which run at the same time:")
    console.print(table)


def _sentence(experiment: Experiment) -> str:
    return printable(
        f"{experiment.public_id} {experiment.state}: {experiment.name}, {experiment.n:,} items in"
        f" each of {len(experiment.batches)} arms"
    )


def _foreseen(arms: list[ArmPlan], found: Foreseen) -> dict[str, Any]:
    return {
        "estimate_usd": {"expected": number(found.expected), "worst": number(found.worst)},
        "seconds": found.seconds,
        "arms": [
            {
                "label": label,
                "mode": arm.mode,
                "estimate_usd": {"expected": number(one.expected), "worst": number(one.worst)},
                "seconds": one.seconds,
                "binding_limit": one.binding_limit,
                "basis": one.basis,
            }
            for label, arm, one in zip(labels_of(arms), arms, found.arms, strict=True)
        ],
    }


def _facts(experiment: Experiment) -> dict[str, Any]:
    return {
        "id": experiment.public_id,
        "name": experiment.name,
        "state": str(experiment.state),
        "task_type": str(experiment.version),
        "n": experiment.n,
        "seed": experiment.seed,
        "source": experiment.source,
        "budget_usd": number(experiment.budget),
        "created_at": stamp(experiment.created_at),
        "started_at": stamp(experiment.started_at),
        "ended_at": stamp(experiment.ended_at),
        "arms": [
            {
                "label": arm.label,
                "batch": arm.batch.public_id,
                "mode": arm.batch.mode,
                "state": arm.batch.state,
                "blocked": arm.batch.blocked or None,
                "items": arm.batch.total,
                "succeeded": arm.batch.succeeded,
                "dead": arm.batch.dead,
                "cost_usd": number(arm.batch.cost),
                "budget_usd": number(arm.batch.budget),
                "estimate_usd": {
                    "expected": number(arm.batch.estimate_expected),
                    "worst": number(arm.batch.estimate_worst),
                },
            }
            for arm in experiment.arms.all()
        ],
    }


def _line(result: dict[str, Any]) -> None:
    print(json.dumps(result), flush=True)
