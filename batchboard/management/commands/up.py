"""`manage.py up`: everything on this machine, until Ctrl-C; what `make run` starts."""

import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from batchboard.cli.refusals import BAD_INPUT, database_away, refuse_bad_settings
from batchboard.supervisor.plan import BrokerAway, NotSimulated, PortTaken
from batchboard.supervisor.supervisor import AlreadyRunning, Supervisor


class Command(BaseCommand):
    help = "Run Batchboard: broker, workers, web server and, without an API key, the simulator."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_bad_settings()
        try:
            Supervisor(settings.DATA_DIR, int(os.environ.get("PORT", "8000"))).run()
        except (AlreadyRunning, BrokerAway, PortTaken) as error:
            raise CommandError(str(error)) from error
        except NotSimulated as error:
            raise CommandError(str(error), returncode=BAD_INPUT) from error
        except OperationalError as error:
            raise CommandError(database_away(error)) from error
