"""`manage.py recurring …`: batches that recur, from the command line."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from batchboard.cli import recurring
from batchboard.cli.options import add_run_options
from batchboard.cli.refusals import refusals


class Command(BaseCommand):
    help = "Make batches recur: list, add, pause, resume, run, remove."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

        def verb(name: str, action: Any, help_: str, *, takes_id: bool = True) -> CommandParser:
            added: CommandParser = verbs.add_parser(name, help=help_)
            added.add_argument("--json", action="store_true", help="for machines")
            added.set_defaults(action=action)
            if takes_id:
                added.add_argument("id")
            return added

        verb("list", recurring.list_, "all, with their next time", takes_id=False)
        add = verb("add", recurring.add, "make a batch recur", takes_id=False)
        source = add.add_mutually_exclusive_group(required=True)
        source.add_argument("--items", metavar="FILE", help="CSV, TSV, JSONL or XLSX; it is kept")
        source.add_argument("--command", metavar="NAME", help="one of BATCHBOARD_COMMANDS")
        source.add_argument("--from-batch", metavar="ID", help="the items of a batch")
        add.add_argument("--task-type", required=True, metavar="NAME|FILE.toml")
        add.add_argument("--fixed", action="store_true",
                         help="always this version; else the newest at each run")  # fmt: skip
        add.add_argument("--cron", required=True, help='as in "0 9 * * 1": Mondays at 09:00')
        add.add_argument("--zone", default="UTC", help="whose clock that is, as Europe/Berlin")
        add.add_argument("--name", default="")
        add.add_argument("--key", default="", help="the column that names an item")
        add_run_options(add, budget_is_asked_for=True)
        verb("pause", recurring.pause, "run no more until it is resumed")
        verb("resume", recurring.resume, "go on from now")
        verb("run", recurring.run, "once now, beside its times")
        verb("remove", recurring.remove, "forget it; its batches stay")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            status = options["action"](options)
        if status:
            raise SystemExit(status)
