"""What each `manage.py experiment …` does. One function a command; each returns the exit status."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from batchboard import experimenting, intake
from batchboard.arm_text import ArmPlan, labels_of, read_arm
from batchboard.cli.answering import Options
from batchboard.cli.costs import print_comparison
from batchboard.cli.experiment_summary import compared, facts, foreseen, summary
from batchboard.cli.refusals import BLOCKED, DEAD_ITEMS, DONE
from batchboard.cli.saying import messages, say_json
from batchboard.cli.terminal import Terminal, printable
from batchboard.cli.watching import INTERVAL_SECONDS, bar, exit_status, warn_without_worker
from batchboard.experimenting import Foreseen
from batchboard.models import Experiment, ExperimentState, NewItem
from batchboard.models.batch import new_seed
from batchboard.task_definition import TaskDefinition
from batchboard.templatetags.figures import forecast as in_words

OVER = {ExperimentState.ENDED, ExperimentState.CANCELLED, ExperimentState.BLOCKED}


def estimate(options: Options) -> int:
    definition, arms, items, _ = _plan(options)
    counted = experimenting.count(definition, items)
    version = intake.stored_version(definition)
    sizes = experimenting.sizes_of(items)
    found = experimenting.foresee(definition, sizes, arms, counted, version)
    if options["json"]:
        say_json({"n": len(items)} | foreseen(arms, found))
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
        say_json(summary(experiment))
    elif options["wait"]:
        _print_outcome(experiment)
    else:
        _print_sentence(experiment)
    return _status(experiment) if options["wait"] else DONE


def list_(options: Options) -> int:
    found = Experiment.objects.with_arms()
    if options["json"]:
        say_json([facts(experiment) for experiment in found])
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
        say_json(summary(experiment))
    else:
        _print_outcome(experiment)
    return DONE


def cancel(options: Options) -> int:
    experiment = _found(options["id"])
    experiment.cancel()
    experiment = _found(options["id"])
    if options["json"]:
        say_json(summary(experiment))
    else:
        _print_sentence(experiment)
    return DONE


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
    console = _print_sentence(experiment)
    for arm in experiment.arms.all():
        batch = arm.batch
        blocked = f", blocked: {batch.blocked_detail or batch.blocked}" if batch.blocked else ""
        console.print(
            printable(
                f"  {arm.label}: {batch.public_id} {batch.state}{blocked}, {batch.succeeded:,} of"
                f" {batch.total:,} succeeded, {batch.dead} dead, ${batch.cost:.4f}"
            ),
        )
    found = compared(experiment)
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


def _print_sentence(experiment: Experiment) -> Console:
    console = Terminal(soft_wrap=True)
    sentence = (
        f"{experiment.public_id} {experiment.state}: {experiment.name}, {experiment.n:,} items in"
        f" each of {len(experiment.batches)} arms"
    )
    console.print(printable(sentence))
    return console
