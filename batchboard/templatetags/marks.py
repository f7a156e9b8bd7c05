"""Small marks of the pages: icons, initials, short names."""

import re
from collections.abc import Sequence

from django import template
from django.contrib.auth.models import AbstractUser
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from batchboard.models.run_options import mode_words
from batchboard.states import ItemState

register = template.Library()
PREFIX = "[Batch] "
CELLS = {str(state): f'<i class="{state}"></i>' for state in ItemState}


@register.simple_tag
def icon(name: str, tone: str = "") -> SafeString:
    """One symbol of the sheet in partials/icons.html; it says nothing that words do not."""
    classes = f"icon tone-{tone}" if tone else "icon"
    return format_html(
        '<svg class="{}" aria-hidden="true"><use href="#icon-{}"/></svg>', classes, name
    )


@register.filter
def cells(states: Sequence[str]) -> SafeString:
    """A cell for each item; a board has thousands, which a loop of the template would slow down."""
    return mark_safe("".join(CELLS[state] for state in states))  # noqa: S308 - our own markup


@register.filter
def initials(person: AbstractUser) -> str:
    """Two letters for a person: of first and last name, else of the user name."""
    words: list[str] = re.findall(r"\w+", person.get_full_name()) or re.findall(
        r"[^\W_]+", person.username
    )
    if len(words) > 1:
        return (words[0][0] + words[-1][0]).upper()
    return words[0][:2].upper() if words else "?"


@register.filter
def has_prefix(name: str) -> bool:
    return name.startswith(PREFIX)


@register.filter
def without_prefix(name: str) -> str:
    return name.removeprefix(PREFIX)


@register.filter
def model_name(model: str) -> str:
    """A model as people call it: claude-sonnet-4-5-20250929 is sonnet-4.5."""
    short = re.sub(r"-\d{8}$", "", model.removeprefix("claude-"))
    return re.sub(r"-(\d+)-(\d+)$", r"-\1.\2", short)


@register.filter
def mode_name(mode: str) -> str:
    """A request mode in words: provider_batch is provider batch."""
    return mode_words(mode)
