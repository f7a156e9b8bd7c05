"""What the command line answers when something cannot be done, and with which exit status."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError

from batchboard import checks
from batchboard.arm_text import ArmTextError
from batchboard.cli.terminal import printable
from batchboard.experimenting import PlanError
from batchboard.ingest import IngestError
from batchboard.models import Batch, Experiment
from batchboard.states import MoveRefused
from batchboard.task_file import TaskFileError

DONE = 0
BAD_INPUT = 2
REFUSED = 3
DEAD_ITEMS = 4
BLOCKED = 5
INTERRUPTED = 130
UNREAD = 141


def bad_input(message: str) -> CommandError:
    if "Nothing was" not in message:
        end = "" if message.endswith("?") else "."
        message = f"{message.rstrip('.')}{end} Nothing was created."
    return CommandError(printable(message), returncode=BAD_INPUT)


def refuse_bad_settings() -> None:
    """Raises CommandError, which says all that is wrong with what the environment sets."""
    if wrong := checks.problems():
        raise CommandError(" ".join([*wrong, "Nothing was done."]), returncode=BAD_INPUT)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what the domain refuses into a clear line and its exit status."""
    try:
        yield
    except (IngestError, TaskFileError, ArmTextError, PlanError) as error:
        raise bad_input(str(error)) from error
    except FileNotFoundError as error:
        raise bad_input(f"There is no file {error.filename}.") from error
    except (IsADirectoryError, PermissionError) as error:
        raise bad_input(f"{error.filename} cannot be read: {error.strerror}.") from error
    except MoveRefused as error:
        raise CommandError(printable(str(error)), returncode=REFUSED) from error
    except Batch.DoesNotExist as error:
        raise CommandError(
            "There is no such batch: `manage.py batch list` shows them.", returncode=BAD_INPUT
        ) from error
    except Experiment.DoesNotExist as error:
        raise CommandError(
            "There is no such experiment: `manage.py experiment list` shows them.",
            returncode=BAD_INPUT,
        ) from error
    except (OperationalError, ProgrammingError) as error:
        if "no such table" in str(error) or "does not exist" in str(error):
            raise CommandError(
                "The database is not set up: start `make run`, or run `manage.py migrate`."
            ) from error
        raise CommandError(database_away(error)) from error


def database_away(error: Exception) -> str:
    """What is said where the database cannot be used, and never with its password."""
    given = settings.DATABASES["default"]
    where = (
        given["NAME"] if not given.get("HOST") else f"{given['HOST']}:{given.get('PORT') or 5432}"
    )
    why = str(error).strip().splitlines() or ["no reason given"]
    return (
        f"The database at {where} cannot be used: {why[0].rstrip('.')}. Is it running, is its disk"
        " full, is DATABASE_URL right? Nothing was changed."
    )
