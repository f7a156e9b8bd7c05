"""`manage.py ledger`: what attempts used and cost."""

import argparse
from datetime import date
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from batchboard.cli import ledger
from batchboard.cli.refusals import refusals
from batchboard.ledger import By


class Command(BaseCommand):
    help = "Show what attempts used and cost, in sums or one by one as CSV."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--since", type=_day, metavar="YYYY-MM-DD", help="from this day (UTC)")
        parser.add_argument("--until", type=_day, metavar="YYYY-MM-DD", help="to this day")
        parser.add_argument("--by", choices=[str(by) for by in By], default=str(By.DAY))
        parser.add_argument("--csv", metavar="FILE", help="one row per attempt; - for output")
        parser.add_argument("--json", action="store_true", help="for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            ledger.show(options)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a day, such as 2026-11-21") from None
