"""What is wrong with the settings of an installation, told before anything runs by them."""

import os
from typing import Any

from django.core.checks import CheckMessage, Error

from batchboard.models import Limits
from batchboard.models.limit_settings import SETTINGS, read_settings

NAMES = {"budget": "DISPATCH_BUDGET_USD"}
WHOLE_NUMBERS = {"PORT": (1, 65_535), "BATCHBOARD_WORKERS": (1, 1_000)}


def check_limits(**_: Any) -> list[CheckMessage]:
    """Limits from the environment must be what a person could set: a rate of 0 would let nothing
    through for ever, and say nothing of it."""
    found: list[CheckMessage] = []
    for name in SETTINGS:
        try:
            read_settings({name: Limits.from_environment(name)})
        except (ValueError, TypeError, ArithmeticError):
            setting = NAMES.get(name, f"DISPATCH_{name.upper()}")
            found.append(
                Error(f"{setting} must be {SETTINGS[name].says}.", id=f"batchboard.{name}")
            )
    return found


def check_whole_numbers(**_: Any) -> list[CheckMessage]:
    """What is read where processes are started must be a number that can be."""
    return [
        Error(f"{name} must be a whole number from {least} to {most:,}.", id=f"batchboard.{name}")
        for name, (least, most) in WHOLE_NUMBERS.items()
        if (given := os.environ.get(name)) is not None
        and not (given.isdecimal() and least <= int(given) <= most)
    ]


def problems() -> list[str]:
    """What is wrong with the settings, a sentence each."""
    return [str(found.msg) for found in [*check_limits(), *check_whole_numbers()]]
