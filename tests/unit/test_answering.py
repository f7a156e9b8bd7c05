"""How commands end where nobody reads or waits any more."""

import os
import subprocess
import sys

TALKS = """
import django
django.setup()
from batchboard.cli.answering import AnsweringCommand

class Command(AnsweringCommand):
    def perform(self, options):
        for _ in range({lines}):
            print("a line of an answer")

Command().handle()
"""


def ended_unread(lines):
    command = subprocess.Popen(
        [sys.executable, "-c", TALKS.format(lines=lines)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "batchboard.settings"},
    )  # fmt: skip
    command.stdout.close()
    return command.communicate()[1], command.returncode


def test_an_answer_that_nobody_reads_to_its_end_is_no_failure():
    assert ended_unread(100_000) == ("", 141)


def test_nor_is_a_short_one_that_is_only_written_at_the_end():
    assert ended_unread(1) == ("", 141)
