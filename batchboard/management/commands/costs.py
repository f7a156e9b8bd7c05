"""`manage.py costs …`: what a task cost before and after."""

from django.core.management.base import CommandParser

from batchboard.cli import costs
from batchboard.cli.answering import AnsweringCommand, Options, add_json

FILTER = "mode=single,version=2,since=2026-01-01,until=2026-02-01"


class Command(AnsweringCommand):
    help = (
        "Compare what a task cost in two ways of working, with failed attempts included. Without"
        " --before and --after: the two modes that the task type ran in last."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("task_type", metavar="TASK_TYPE", nargs="?")
        parser.add_argument("--experiment", metavar="ID", help="its arms, instead of past batches")
        parser.add_argument("--before", metavar="FILTER", help=f"e.g. {FILTER}; days are UTC's")
        parser.add_argument("--after", metavar="FILTER", action="append",
                            help="given again: a further one to hold against it")  # fmt: skip
        add_json(parser)

    def perform(self, options: Options) -> None:
        costs.costs(options)
