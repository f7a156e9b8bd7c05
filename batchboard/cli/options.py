"""The options of a run, and what may be given for them."""

import argparse
from decimal import Decimal, InvalidOperation

from batchboard.models import Mode, RunOptions, Schedule


def add_run_options(parser: argparse.ArgumentParser, *, budget_is_asked_for: bool = False) -> None:
    """Where nobody looks on, a budget is asked for, or a clear word that there is none."""
    parser.add_argument("--concurrency", type=_at_least(1), metavar="N",
                        help="at most N calls of this batch in flight")  # fmt: skip
    parser.add_argument("--schedule", choices=Schedule.values, default=Schedule.WINDOW)
    parser.add_argument("--mode", choices=Mode.values, default=Mode.CACHED)
    parser.add_argument("--group-size", type=_at_least(1), metavar="K",
                        help="items of one packed call, or of one session")  # fmt: skip
    parser.add_argument("--session-timeout", type=_at_least(1), metavar="S",
                        help="seconds for a session as a whole")  # fmt: skip
    parser.add_argument("--session-tokens", type=_at_least(1), metavar="N",
                        help="context after which a new session starts")  # fmt: skip
    parser.add_argument("--first-look", action="store_true",
                        help="stop after the first N items until somebody looked")  # fmt: skip
    money = parser.add_mutually_exclusive_group(required=budget_is_asked_for)
    money.add_argument("--budget", type=_dollars, metavar="USD")
    if budget_is_asked_for:
        money.add_argument("--no-budget", action="store_true", help="only the ceiling holds")
    parser.add_argument("--item-timeout", type=_at_least(1), default=120, metavar="S")
    parser.add_argument("--deadline", type=_at_least(1), metavar="S")
    parser.add_argument("--sample", type=_at_least(1), metavar="N",
                        help="how many results to draw for review")  # fmt: skip
    parser.add_argument("--allowed-bad", type=_at_least(0), default=0, metavar="N",
                        help="how many bad ones in the sample still pass (default 0)")  # fmt: skip
    parser.add_argument("--priority", type=int, choices=range(-10, 11), default=0, metavar="P",
                        help="-10 to 10; higher first where batches are served alike")  # fmt: skip
    parser.add_argument("--unpriced", action="store_true",
                        help="run also where no price of the model is known, its cost unknown;"
                        " not with a budget or a ceiling")  # fmt: skip


def run_options(namespace: dict[str, object]) -> RunOptions:
    return RunOptions(
        schedule=str(namespace["schedule"]),
        mode=str(namespace["mode"]),
        concurrency=namespace["concurrency"],  # type: ignore[arg-type]
        first_look=bool(namespace["first_look"]),
        budget=namespace["budget"],  # type: ignore[arg-type]
        item_timeout=namespace["item_timeout"],  # type: ignore[arg-type]
        deadline=namespace["deadline"],  # type: ignore[arg-type]
        sample_size=namespace["sample"],  # type: ignore[arg-type]
        allowed_bad=namespace["allowed_bad"],  # type: ignore[arg-type]
        priority=namespace["priority"],  # type: ignore[arg-type]
        unpriced_ok=bool(namespace["unpriced"]),
        group_size=namespace["group_size"],  # type: ignore[arg-type]
        session_timeout=namespace["session_timeout"],  # type: ignore[arg-type]
        session_tokens=namespace["session_tokens"],  # type: ignore[arg-type]
    )


class _at_least:
    def __init__(self, least: int) -> None:
        self.least = least

    def __call__(self, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = self.least - 1
        if not self.least <= value <= 2_000_000_000:
            raise argparse.ArgumentTypeError(
                f"{text} is not a whole number of {self.least} or more"
            )
        return value


def _dollars(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal(-1)
    if not value.is_finite() or not 0 <= value < 100_000_000:
        raise argparse.ArgumentTypeError(f"{text} is not an amount in dollars")
    return value
