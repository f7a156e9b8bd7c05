"""Runs one command of `manage.py` after another, each in a fork of a process that has imported
everything: to start anew takes two seconds of a processor, which a page does not wait for.

Reads a line of JSON for each, the arguments and the files for its two outputs, and answers with its
exit status."""

import gc
import json
import os
import sys

import django
from django.core.management import execute_from_command_line, get_commands, load_command_class


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "batchboard.settings")
    django.setup()
    for name, app in get_commands().items():
        if app == "batchboard":
            load_command_class(app, name)
    from batchboard.cli import commands  # noqa: F401  imported by the verbs when they run
    from dispatch import sdk

    sdk.load()  # a second of a processor for each command that counts tokens
    gc.freeze()  # else each fork's collector would copy all that is shared
    for line in sys.stdin:
        arguments, output, errors = json.loads(line)
        child = os.fork()
        if child == 0:
            _connect(output, errors)
            sys.exit(execute_from_command_line(["manage.py", *arguments]))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _connect(output: str, errors: str) -> None:
    for stream, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, stream)
        os.close(opened)


if __name__ == "__main__":
    main()
