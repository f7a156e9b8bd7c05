"""`manage.py simulator`: the provider's stand-in, started by hand."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dispatch import simulator


class Command(BaseCommand):
    help = "Run the provider simulator: its API, limits, cache accounting and faults, on loopback."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to bind")
        parser.add_argument("--port", type=int, default=8010, help="0 takes a free port")
        simulator.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            chosen = simulator.options_from(argparse.Namespace(**options))
        except ValueError as error:
            raise CommandError(str(error), returncode=2) from error
        simulator.run(chosen, options["host"], options["port"])
