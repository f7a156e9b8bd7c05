"""`manage.py costs …`: what a task cost before and after."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from batchboard.cli import costs
from batchboard.cli.refusals import refusals

FILTER = "mode=single,version=2,since=2026-01-01,until=2026-02-01"


class Command(BaseCommand):
    help = (
        "Compare what a task cost in two ways of working, with failed attempts included. Without"
        " --before and --after: the two modes that the task type ran in last."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("task_type", metavar="TASK_TYPE")
        parser.add_argument("--before", metavar="FILTER", help=f"e.g. {FILTER}; days are UTC's")
        parser.add_argument("--after", metavar="FILTER", action="append",
                            help="given again: a further one to hold against it")  # fmt: skip
        parser.add_argument("--json", action="store_true", help="for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            costs.costs(options)
