"""What commands print: an answer for people or for machines, and remarks beside it."""

import json
from typing import Any

from batchboard.cli.answering import Options
from batchboard.cli.terminal import Terminal

messages = Terminal(stderr=True, soft_wrap=True)
"""Remarks go to standard error, so that what is printed can be piped on."""


def say(options: Options, result: Any, sentence: str) -> None:
    """The `result` for machines where --json was given, or else the sentence."""
    if options["json"]:
        say_json(result)
    else:
        Terminal(soft_wrap=True).print(sentence)


def say_json(result: Any) -> None:
    print(json.dumps(result), flush=True)
