"""Values that others wrote, as text: fields of a JSON answer or of an input row.

Everything is escaped, hidden characters are spelled out, nothing becomes a link, and no more than
a budget of characters is written.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from batchboard.strict_json import compact
from batchboard.templatetags.untrusted import visible_block

register = template.Library()

SHOWN_AT_FIRST = 20_000
DEEPEST = 6
ADDRESS_STARTS = ("http://", "https://", "ftp://", "mailto:", "javascript:", "data:")


@dataclass(frozen=True)
class Shown:
    """A value as HTML, and whether some of it was left out."""

    html: SafeString
    is_cut: bool


def as_fields(value: object, marked: Collection[str] = (), limit: int | None = None) -> Shown:
    """A value as a list of named fields where it is an object, else as one. Fields in `marked`
    hold one of a few words, and look like it."""
    writer = _Writer(limit)
    if isinstance(value, Mapping) and value:
        body = writer.fields(value, marked)
    else:
        body = format_html('<div class="whole">{}</div>', writer.value(value))
    return Shown(body, writer.is_cut)


class _Writer:
    """Writes values until its budget of characters is spent."""

    def __init__(self, limit: int | None) -> None:
        self._left = limit
        self.is_cut = False

    def fields(self, value: Mapping[str, Any], marked: Collection[str]) -> SafeString:
        rows = []
        for name, part in value.items():
            if self._is_spent():
                break
            body = self._chip(part) if name in marked and part != "" else self.value(part)
            rows.append((self._cut(name), body))
        return format_html_join("", '<div><dt dir="auto">{}</dt><dd>{}</dd></div>', rows)

    def value(self, value: object, depth: int = 0) -> SafeString:
        if isinstance(value, str):
            return self._text(value)
        if depth < DEEPEST and isinstance(value, Mapping) and value:
            return self._pairs(value, depth)
        if depth < DEEPEST and isinstance(value, Sequence) and value:
            return self._list(value, depth)
        return self._chip(value)

    def _text(self, text: str) -> SafeString:
        if not text:
            return mark_safe('<span class="muted">empty</span>')
        shown = format_html('<span class="text" dir="auto">{}</span>', self._cut(text))
        if text.lower().startswith(ADDRESS_STARTS) and " " not in text:
            return format_html(
                '{} <span class="muted meta">shown as text, not as a link</span>', shown
            )
        return shown

    def _chip(self, value: object) -> SafeString:
        text = value if isinstance(value, str) else compact(value)
        return format_html('<code class="value">{}</code>', self._cut(text))

    def _pairs(self, value: Mapping[str, Any], depth: int) -> SafeString:
        rows = []
        for name, part in value.items():
            if self._is_spent():
                break
            rows.append((self._cut(name), self.value(part, depth + 1)))
        return format_html(
            '<ul class="pairs">{}</ul>', format_html_join("", "<li><b>{}</b>: {}</li>", rows)
        )

    def _list(self, value: Sequence[Any], depth: int) -> SafeString:
        rows = []
        for part in value:
            if self._is_spent():
                break
            rows.append((self.value(part, depth + 1),))
        return format_html("<ol>{}</ol>", format_html_join("", "<li>{}</li>", rows))

    def _is_spent(self) -> bool:
        if self._left is not None and self._left <= 0:
            self.is_cut = True
        return self.is_cut

    def _cut(self, text: str) -> str:
        if self._left is not None:
            if len(text) > self._left:
                text, self.is_cut = f"{text[: max(0, self._left)]}…", True
            self._left -= len(text)
        return visible_block(text)
