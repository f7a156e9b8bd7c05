"""The markup of a card, made once for all who may do the same, and kept until the card changes.

Most cards of a board stand as they stood when somebody looked last, and to fill a template is most
of the work that a board makes. A kept card is compared with everything that its template reads.
"""

from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from batchboard.models import Batch
from batchboard.roles import Right
from batchboard.templatetags.figures import ago, forecast, left
from batchboard.views.cards import Card
from batchboard.views.columns import Column

MOST_KEPT = 5_000
"""Cards of about two kilobytes; beyond, all are forgotten and made anew."""

Place = tuple[int, str, frozenset[Right]]

_kept: dict[Place, tuple[list[Any], SafeString]] = {}


def card_markup(card: Card, column: Column, rights: frozenset[Right]) -> SafeString:
    """The element of `card` in `column`, for somebody with `rights`."""
    place, shown = (card.batch.pk, column.name, rights), _shown(card)
    kept = _kept.get(place)
    if kept is not None and kept[0] == shown:
        return kept[1]
    if len(_kept) >= MOST_KEPT:
        _kept.clear()
    context = {"card": card, "column": column, "rights": rights}
    made = render_to_string("board/_card.html", context)
    _kept[place] = shown, made
    return made


def forget() -> None:
    """Make every card anew."""
    _kept.clear()


def _shown(card: Card) -> list[Any]:
    """All that the template may read: the batch's own columns, the names beside them, what was
    found out, and spans of time in the words that they have now."""
    batch, reason = card.batch, card.reason
    values = batch.__dict__
    version, owner = batch.version, str(batch.owner)
    return [
        *(values[column.attname] for column in Batch._meta.concrete_fields),
        *(version.model, version.task_type.name, owner),
        *(card.in_flight, card.at_most, card.with_provider, card.progress, card.action),
        *(forecast(card.seconds_left), left(card.back_by)),
        *((reason, ago(reason.since), left(reason.until)) if reason else ()),
    ]
