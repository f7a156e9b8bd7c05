"""`manage.py ledger`: what attempts used and cost."""

import argparse
from datetime import date

from django.core.management.base import CommandParser

from batchboard.cli import ledger
from batchboard.cli.answering import AnsweringCommand, Options, add_json
from batchboard.ledger import By


class Command(AnsweringCommand):
    help = "Show what attempts used and cost, in sums or one by one as CSV."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--since", type=_day, metavar="YYYY-MM-DD", help="from this day (UTC)")
        parser.add_argument("--until", type=_day, metavar="YYYY-MM-DD", help="to this day")
        parser.add_argument("--by", choices=[str(by) for by in By], default=str(By.DAY))
        parser.add_argument("--csv", metavar="FILE", help="one row per attempt; - for output")
        add_json(parser)

    def perform(self, options: Options) -> None:
        ledger.show(options)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a day, such as 2026-11-21") from None
