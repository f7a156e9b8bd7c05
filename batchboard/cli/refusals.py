"""What the command line answers when something cannot be done, and with which exit status."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError

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


def bad_input(message: str) -> CommandError:
    if "Nothing was" not in message:
        message = f"{message.rstrip('.')}. Nothing was created."
    return CommandError(printable(message), returncode=BAD_INPUT)


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
        raise
