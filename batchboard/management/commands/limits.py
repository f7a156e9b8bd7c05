"""`manage.py limits`: shows the limits, or changes them while everything runs."""

import json

from django.core.management.base import CommandError, CommandParser

from batchboard.cli.answering import AnsweringCommand, Options, add_json
from batchboard.cli.refusals import BAD_INPUT
from batchboard.models import Limits
from batchboard.models.limit_settings import SETTINGS
from batchboard.summary import limits_summary


class Command(AnsweringCommand):
    help = "Show the limits, or change them; a change holds within seconds, without a restart."

    def add_arguments(self, parser: CommandParser) -> None:
        for name, setting in SETTINGS.items():
            parser.add_argument(f"--{name.replace('_', '-')}", help=setting.says, metavar="N")
        parser.add_argument("--pause", action="store_true", help="pause everything")
        parser.add_argument("--resume", action="store_true", help="go on")
        add_json(parser)

    def perform(self, options: Options) -> None:
        limits = Limits.objects.current()
        values = {name: options[name] for name in SETTINGS if options[name] is not None}
        try:
            if values:
                limits.change(**values)
        except ValueError as error:
            raise CommandError(str(error), returncode=BAD_INPUT) from error
        if options["pause"]:
            limits.pause_all()
        if options["resume"]:
            limits.resume_all()
        limits.refresh_from_db()
        result = limits_summary(limits)
        if options["json"]:
            self.stdout.write(json.dumps(result))
            return
        for name, value in result.items():
            self.stdout.write(f"{name}: {'–' if value is None else json.dumps(value)}")
