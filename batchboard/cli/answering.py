"""What the commands of `manage.py` have in common: refusals in words, exit statuses, verbs."""

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from batchboard.cli.refusals import UNREAD, refusals, refuse_bad_settings

Options = dict[str, Any]
Action = Callable[[Options], int | None]


class AnsweringCommand(BaseCommand):
    """A command that says in a line why something cannot be done. `perform` prints, and returns the
    exit status where it is not 0."""

    requires_system_checks: list[str] = []

    def perform(self, options: Options) -> int | None:
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_bad_settings()
        try:
            with refusals():
                status = self.perform(options)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever reads has seen enough, as `head` has; what is left is written to nobody.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            status = UNREAD
        if status:
            raise SystemExit(status)


class VerbsCommand(AnsweringCommand):
    """A command with verbs, each with its own options; `add_verbs` adds them."""

    verbs: "argparse._SubParsersAction[Any]"

    def add_arguments(self, parser: CommandParser) -> None:
        self.verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        self.add_verbs()

    def add_verbs(self) -> None:
        raise NotImplementedError

    def verb(self, name: str, action: Action, says: str, *, takes_id: bool = True) -> CommandParser:
        added: CommandParser = self.verbs.add_parser(name, help=says)
        add_json(added)
        added.set_defaults(action=action)
        if takes_id:
            added.add_argument("id")
        return added

    def perform(self, options: Options) -> int | None:
        action: Action = options["action"]
        return action(options)


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for machines")
