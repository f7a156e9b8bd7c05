"""`manage.py batch …`: batches from the command line."""

from batchboard.cli import commands
from batchboard.cli.answering import VerbsCommand
from batchboard.cli.options import add_run_options


class Command(VerbsCommand):
    help = "Estimate, run, watch, review and export batches."

    def add_verbs(self) -> None:
        for name, action, help_ in (
            ("estimate", commands.estimate, "what a run would cost and take; creates nothing"),
            ("run", commands.run, "create a batch and start it"),
        ):
            added = self.verb(name, action, help_, takes_id=False)
            added.add_argument("items", help="CSV, TSV, JSONL or XLSX, or - for standard input")
            added.add_argument("--task-type", required=True, metavar="FILE.toml")
            add_run_options(added)
        added.add_argument("--name", default="")
        added.add_argument("--wait", action="store_true", help="until it ends or is blocked")

        self.verb("list", commands.list_, "all batches, newest first", takes_id=False)
        self.verb("show", commands.show, "one batch")
        clone = self.verb(
            "clone", commands.clone, "a new draft of the same items, with an estimate"
        )
        clone.add_argument("--name", default="")
        clone.add_argument("--task-version", choices=["newest", "same"], default="newest",
                           help="of the task type")  # fmt: skip
        clone.add_argument("--start", action="store_true", help="and start it")
        self.verb("pause", commands.pause, "let no further call through")
        self.verb("resume", commands.resume, "go on after a pause or a block")
        self.verb("cancel", commands.cancel, "end it, calls in flight too")
        retry = self.verb("retry", commands.retry, "send dead items again")
        retry.add_argument("--item", nargs="+", metavar="KEY", help="only these")
        self.verb("review", commands.review, "the drawn results, with input and output")
        judge = self.verb("judge", commands.judge, "give a verdict on a drawn result")
        judge.add_argument("key")
        judge.add_argument("verdict", choices=["pass", "fail"])
        judge.add_argument("--note", default="")
        approve = self.verb("approve", commands.approve, "let the results go")
        approve.add_argument("--override", default="", metavar="REASON")
        reject = self.verb("reject", commands.reject, "refuse the results")
        reject.add_argument("--reason", required=True)
        reject.add_argument("--rerun", choices=["bad", "all"])
        self.verb("ledger", commands.ledger, "what each attempt used and cost, as CSV")
        export = self.verb("export", commands.export, "the results of a released batch")
        export.add_argument("--format", choices=["jsonl", "csv", "xlsx"], default="jsonl")
        export.add_argument("-o", "--output", metavar="FILE")
