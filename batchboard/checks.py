"""What is wrong with the settings of an installation, told before anything runs by them."""

from typing import Any

from django.core.checks import CheckMessage, Error

from batchboard.models import Limits
from batchboard.models.limit_settings import SETTINGS, read_settings

NAMES = {"budget": "DISPATCH_BUDGET_USD"}


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
