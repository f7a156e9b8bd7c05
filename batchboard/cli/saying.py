"""What commands print: an answer for people or for machines, and remarks beside it."""

import json
from typing import Any

from rich.console import Console

from batchboard.cli.answering import Options

messages = Console(stderr=True, highlight=False, soft_wrap=True)
"""Remarks go to standard error, so that what is printed can be piped on."""


def say(options: Options, result: Any, sentence: str) -> None:
    """The `result` for machines where --json was given, or else the sentence."""
    if options["json"]:
        say_json(result)
    else:
        Console(highlight=False, soft_wrap=True).print(sentence, markup=False)


def say_json(result: Any) -> None:
    print(json.dumps(result), flush=True)


def printable(text: str) -> str:
    """Untrusted text for a terminal: of control characters only line breaks and tabs are sent."""
    return "".join(
        character if character in "\n\t" or character.isprintable() else f"\\x{ord(character):02x}"
        for character in text
    )
