"""Verbs on many items: those selected in the table, else all that its filter finds."""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from batchboard.models import Batch, Item
from batchboard.models.item import ItemQuerySet
from batchboard.roles import NotAllowed
from batchboard.states import UNFINISHED_BATCH, BatchState, ItemState, MoveRefused
from batchboard.views.asked import Asked
from batchboard.views.item_page import ItemPage
from batchboard.views.item_search import COUNTED, chosen, number_of
from batchboard.whole_numbers import whole_number
from batchboard.wording import many


@dataclass(frozen=True)
class Bulk:
    """How many items of the filter could be sent again or cancelled; 0 where that is for selected
    ones alone, None where the batch allows it for none."""

    again: int | None
    cancel: int | None

    @property
    def many(self) -> int:
        """What is counted no further."""
        return COUNTED


def bulk(batch: Batch, page: ItemPage, waiting: int) -> Bulk:
    """Counted from the batch's own counters where the filter is a state alone."""
    again = cancel = None
    if batch.dead and batch.state in UNFINISHED_BATCH | {BatchState.REVIEW}:
        again = _count(batch, page, ItemState.DEAD, batch.dead)
    if waiting and batch.state in UNFINISHED_BATCH:
        cancel = _count(batch, page, ItemState.WAITING, waiting)
    return Bulk(again, cancel)


def _count(batch: Batch, page: ItemPage, state: ItemState, of_all: int) -> int | None:
    asked = page.asked
    if asked.state not in {"", state}:
        return None
    if asked.find:
        # What is searched for is not counted beyond the page that shows all of it.
        more = page.previous or page.next
        return 0 if more else sum(row.item.state == state for row in page.rows)
    return number_of(chosen(batch, asked).filter(state=state)) if asked.outcome else of_all


def _on_items(
    verb: Callable[[Batch, ItemQuerySet, HttpRequest], str],
) -> Callable[..., HttpResponse]:
    @require_POST
    def view(request: HttpRequest, public_id: str) -> HttpResponse:
        batch = get_object_or_404(Batch, public_id=public_id)
        asked = Asked.of(request.GET)
        back = reverse("batch", args=[public_id]) + asked.filter
        try:
            messages.success(request, verb(batch, _meant(batch, asked, request), request))
        except NotAllowed:
            raise
        except MoveRefused as refusal:
            messages.error(request, str(refusal))
        return redirect(back)

    return view


def _meant(batch: Batch, asked: Asked, request: HttpRequest) -> ItemQuerySet:
    """The one item that the address names; the selected ones, where the button stands over the
    table and any are; else the filter's."""
    one = whole_number(request.GET.get("item", ""))
    if one is not None:
        return Item.objects.filter(pk=one)
    given = map(whole_number, request.POST.getlist("item"))
    selected = [pk for pk in given if pk is not None]
    if selected and "selected" in request.GET:
        return Item.objects.filter(pk__in=selected)
    return chosen(batch, asked)


def _send_again(batch: Batch, items: ItemQuerySet, request: HttpRequest) -> str:
    number = batch.retry(by=request.user, among=items)
    return f"{many(number, 'item is', 'items are')} sent again."


def _cancel(batch: Batch, items: ItemQuerySet, request: HttpRequest) -> str:
    number = batch.cancel_items(items, by=request.user)
    return f"{many(number, 'item is', 'items are')} cancelled."


second_try = _on_items(_send_again)
item_cancellation = _on_items(_cancel)
