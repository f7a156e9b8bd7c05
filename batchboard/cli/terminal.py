"""What goes to a terminal: names, inputs and answers are shown there, and steer nothing."""

from typing import Any

from rich.console import Console
from rich.text import Text


def printable(text: str) -> str:
    """Untrusted text for a terminal: of control characters only line breaks and tabs are sent, and
    nothing that turns the direction of text."""
    return "".join(
        character if character in "\n\t" or character.isprintable() else f"\\x{ord(character):02x}"
        for character in text
    )


class Terminal(Console):
    """A console for which every text is plain: brackets in it are no markup, and characters that
    steer a terminal are spelled out."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(stderr=stderr, soft_wrap=soft_wrap, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        plain = {"markup": False, "emoji": False, "highlight": False}
        return super().render_str(printable(text), **(options | plain))
