"""Text that others wrote, for a page: shown, never obeyed."""

import unicodedata

from django import template

register = template.Library()

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that draw nothing or steer what is drawn: control, format (which holds
the marks that turn the direction of text), surrogates, private and unassigned ones, separators."""


@register.filter
def visible(text: object) -> str:
    """`text` with every hidden character spelled out, as ⟨U+202E⟩.

    The result is plain text that the template still escapes.
    """
    return "".join(
        f"⟨U+{ord(character):04X}⟩" if unicodedata.category(character) in HIDDEN else character
        for character in str(text)
    )
