"""What each `manage.py batch …` does. One function a command; each returns the exit status."""

import csv
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from rich.table import Table
from rich.text import Text

from batchboard import export as exporting
from batchboard import intake
from batchboard.cli.answering import Options
from batchboard.cli.options import run_options
from batchboard.cli.refusals import BAD_INPUT, DONE, INTERRUPTED
from batchboard.cli.saying import messages, say, say_json
from batchboard.cli.terminal import Terminal, printable
from batchboard.cli.watching import warn_without_worker, watch
from batchboard.export import harmless
from batchboard.models import Attempt, Batch, Limits, Mode, suggested_deadline
from batchboard.models.attempt import TOKENS
from batchboard.summary import number, stamp, summary
from batchboard.task_definition import TaskDefinition
from batchboard.task_file import TaskFileError
from batchboard.wording import many
from dispatch import asked_schema


def estimate(options: Options) -> int:
    definition = _task_type(options)
    with intake.open_items(options["items"], definition, sys.stdin.buffer) as items:
        run = run_options(options)
        found = intake.estimate(items, run)
        count = items.sizes.total()
    deadline = suggested_deadline(count, run, Limits.objects.current().cap)
    result = {
        "items": count,
        "estimate_usd": {"expected": number(found.expected), "worst": number(found.worst)},
        "seconds": found.seconds,
        "binding_limit": found.binding_limit,
        "recommended_concurrency": found.recommended_concurrency,
        "suggested_deadline": deadline,
        "tokens": {"input": found.input_tokens, "output": found.output_tokens},
        "basis": found.basis,
    }
    _warn_of_contract(definition)
    if options["json"]:
        say_json(result)
        return DONE
    console = Terminal()
    if found.expected is None or found.worst is None:
        console.print(f"{count:,} items, unpriced: no price of {definition.model} is known")
    else:
        console.print(f"{count:,} items: about ${found.expected:.4f}, at worst ${found.worst:.4f}")
    console.print(f"~{found.seconds:g} s; {found.binding_limit} binds ({found.basis})")
    console.print(f"Recommended N: {found.recommended_concurrency}; deadline: {deadline} s")
    return DONE


def run(options: Options) -> int:
    definition = _task_type(options)
    with intake.open_items(options["items"], definition, sys.stdin.buffer) as items:
        batch = intake.create(items, run_options(options), options["name"])
    _warn_of_contract(definition)
    _warn_of_deadline(batch)
    batch.start()
    warn_without_worker(messages)
    if not options["wait"]:
        say(options, {"id": batch.public_id, "state": batch.state, "items": batch.total},
             f"{batch.public_id} {batch.state}: {batch.name}, {batch.total:,} items")  # fmt: skip
        return DONE
    if not options["json"]:
        messages.print(printable(f"{batch.public_id}: {batch.name}"), markup=False)
    try:
        status = watch(batch, messages, quiet=bool(options["json"]))
    except KeyboardInterrupt:
        messages.print(f"{batch.public_id} goes on: `manage.py batch show {batch.public_id}`.")
        return INTERRUPTED
    say(options, summary(batch), _outcome(batch))
    return status


def list_(options: Options) -> int:
    limits = Limits.objects.current()
    batches = Batch.objects.arrived().select_related("version__task_type").order_by("-id")
    if options["json"]:
        say_json([summary(batch, limits) for batch in batches])
        return DONE
    table = Table("id", "state", "name", "done", "dead", "cost", box=None, pad_edge=False)
    for batch in batches:
        table.add_row(
            batch.public_id,
            f"{batch.state} (blocked: {batch.blocked})" if batch.blocked else batch.state,
            Text(printable(batch.name)),
            f"{batch.ended:,} of {batch.total:,}",
            str(batch.dead or ""),
            f"${batch.cost:.4f}",
        )
    Terminal().print(table)
    return DONE


def show(options: Options) -> int:
    batch = _find(options)
    if options["json"]:
        say_json(summary(batch))
        return DONE
    console = Terminal()
    console.print(_outcome(batch))
    for name, value in summary(batch).items():
        console.print(f"  {name}: {json.dumps(value)}")
    dead = batch.items.dead().order_by("position")
    for item in dead[:20]:
        console.print(f"  dead: {item.key}: {item.outcome}: {item.problem}")
    return DONE


def clone(options: Options) -> int:
    batch = _find(options)
    made = intake.clone(batch, options["name"], newest=options["task_version"] == "newest")
    if options["start"]:
        made.start()
        warn_without_worker(messages)
    said = f"{made.public_id} {made.state}: {made.name}, {made.total:,} items of {batch.public_id}"
    say(options, summary(made) | {"clone_of": batch.public_id}, said)
    return DONE


def pause(options: Options) -> int:
    return _act(options, Batch.pause)


def resume(options: Options) -> int:
    return _act(options, Batch.resume)


def cancel(options: Options) -> int:
    return _act(options, Batch.cancel)


def retry(options: Options) -> int:
    batch = _find(options)
    count = batch.retry(options["item"] or None)
    say(options, summary(batch), f"{many(count, 'item', 'items')} of {batch.public_id} sent again.")
    return DONE


def review(options: Options) -> int:
    batch = _find(options)
    drawn = list(batch.sample())
    if options["json"]:
        say_json(drawn)
        return DONE
    console = Terminal()
    console.print(f"{batch.name}: {len(drawn)} results drawn from {batch.succeeded}")
    for line in batch.version.check_list:
        console.print(f"  look for: {line}")
    for one in drawn:
        console.rule(f"{one['key']}  {one['verdict'] or 'not judged'}")
        console.print(json.dumps(one["input"], ensure_ascii=False, indent=1))
        output = one["output"]
        text = (
            output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=1)
        )
        console.print(text)
        if one["note"]:
            console.print(f"note: {one['note']}")
    return DONE


def judge(options: Options) -> int:
    batch = _find(options)
    batch.judge(options["key"], options["verdict"], options["note"])
    found = batch.open_review
    say(options, {"id": batch.public_id, "judged": found.judged, "bad": found.bad},
         f"{found.judged} of {found.sampled.count()} judged, {found.bad} bad")  # fmt: skip
    return DONE


def approve(options: Options) -> int:
    return _act(options, lambda batch: batch.approve(override=options["override"]))


def reject(options: Options) -> int:
    batch = _find(options)
    again = intake.reject(batch, options["reason"], rerun=options["rerun"])
    result = summary(batch) | {"rerun": again.public_id if again else None}
    say(options, result, f"{batch.public_id} {batch.state}"
         + (f"; sent again as {again.public_id}" if again else ""))  # fmt: skip
    return DONE


def export(options: Options) -> int:
    batch = _find(options)
    pieces = exporting.export(batch, options["format"])
    if options["output"]:
        with Path(options["output"]).open("wb") as file:
            file.writelines(pieces)
        if options["json"]:
            say_json({"results": batch.succeeded, "file": options["output"]})
        else:
            messages.print(f"{batch.succeeded:,} results written to {options['output']}")
    elif options["format"] == "xlsx" and sys.stdout.isatty():
        raise CommandError("A workbook is not text: name a file with -o.", returncode=BAD_INPUT)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
    return DONE


LEDGER = (
    "item", "attempt", "model", "mode", "outcome", "status", "request_id", *TOKENS, "cost_usd",
    "reserved_usd", "latency_ms", "started_at", "ended_at",
)  # fmt: skip


def ledger(options: Options) -> int:
    attempts = _find(options).attempts.select_related("item").order_by("id")
    if options["json"]:
        found = (zip(LEDGER, _ledger_row(one), strict=True) for one in attempts)
        say_json([{name: _plain(value) for name, value in row} for row in found])
        return DONE
    writer = csv.writer(sys.stdout)
    writer.writerow(LEDGER)
    for one in attempts.iterator(chunk_size=2_000):
        key, *rest = _ledger_row(one)
        writer.writerow([harmless(key), *rest])
    return DONE


def _ledger_row(one: Attempt) -> list[Any]:
    """An attempt in the columns of LEDGER."""
    return [
        one.item.key, one.pk, one.model, one.mode, one.outcome, one.status, one.request_id,
        *(getattr(one, name) for name in TOKENS), one.cost, one.reserved, one.latency_ms,
        stamp(one.started_at), stamp(one.ended_at),
    ]  # fmt: skip


def _plain(value: Any) -> Any:
    return number(value) if isinstance(value, Decimal) else value


def _task_type(options: Options) -> TaskDefinition:
    content = Path(options["task_type"]).read_bytes()
    try:
        return intake.read_task_file(content, unpriced=options["unpriced"])
    except TaskFileError as error:
        if error.field == "model" and "is unknown" in error.message:
            error.message += (
                " If it is right, an administrator can enter its price on the limits page, and"
                " --unpriced runs it without one."
            )
        raise


def _act(options: Options, verb: Any) -> int:
    batch = _find(options)
    verb(batch)
    say(options, summary(batch), _outcome(batch))
    return DONE


def _find(options: Options) -> Batch:
    return Batch.objects.select_related("version__task_type").get(public_id=options["id"])


def _outcome(batch: Batch) -> str:
    blocked = f", blocked: {batch.blocked_detail or batch.blocked}" if batch.blocked else ""
    return (
        f"{batch.public_id} {batch.state}{blocked}: {batch.succeeded:,} of {batch.total:,}"
        f" succeeded, {batch.dead} dead, ${batch.cost:.4f}"
    )


def _warn_of_contract(definition: TaskDefinition) -> None:
    if note := asked_schema.advice(definition.contract):
        messages.print(note, style="yellow")


def _warn_of_deadline(batch: Batch) -> None:
    if batch.deadline is None:
        return
    needed = suggested_deadline(batch.total, batch, Limits.objects.current().cap)
    if batch.deadline < needed:
        whole = "every call takes its whole timeout"
        if batch.mode == Mode.PROVIDER_BATCH:
            whole = "the provider takes its whole day"
        messages.print(
            f"A deadline of {batch.deadline} s may end the batch early: {needed} s is enough even"
            f" if {whole}.",
            style="yellow",
        )
