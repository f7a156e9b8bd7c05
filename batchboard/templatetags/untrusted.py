"""Text that others wrote, for a page: shown, never obeyed."""

import unicodedata

from django import template

register = template.Library()

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that draw nothing or steer what is drawn: control, format (which holds
the marks that turn the direction of text), surrogates, private and unassigned ones, separators."""


LINE_BREAKS = frozenset("\n\t")
"""What a block of text may keep: it draws nothing, and steers nothing but its own lines."""


@register.filter
def visible(text: object) -> str:
    """`text` with every hidden character spelled out, as ⟨U+202E⟩.

    The result is plain text that the template still escapes.
    """
    return _spelled_out(str(text), frozenset())


@register.filter
def visible_block(text: object) -> str:
    """Like `visible`, for text of many lines: its line breaks and tabs stay what they are."""
    return _spelled_out(str(text).replace("\r\n", "\n"), LINE_BREAKS)


def _spelled_out(text: str, kept: frozenset[str]) -> str:
    hidden = {
        ord(character): f"⟨U+{ord(character):04X}⟩"
        for character in set(text) - kept
        if unicodedata.category(character) in HIDDEN
    }
    return text.translate(hidden) if hidden else text
