"""`manage.py experiment …`: experiments from the command line."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from batchboard.cli import experiments
from batchboard.cli.options import add_experiment_options
from batchboard.cli.refusals import refusals


class Command(BaseCommand):
    help = (
        "Run the same random sample of items in several ways, and say what each costs. The first"
        " arm is the measure that the others are held against."
    )
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

        for name, action, help_ in (
            ("estimate", experiments.estimate, "what each arm would cost and take"),
            ("run", experiments.run, "create an experiment and start it"),
        ):
            added = verb(name, action, help_, takes_id=False)
            add_experiment_options(added)
        added.add_argument("--name", default="")
        added.add_argument(
            "--wait", action="store_true", help="until every arm ended or is blocked"
        )

        verb("list", experiments.list_, "all experiments, newest first", takes_id=False)
        verb("show", experiments.show, "one experiment: its arms, and the comparison")
        verb("cancel", experiments.cancel, "end every arm that has items left to do")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            status = options["action"](options)
        if status:
            raise SystemExit(status)
