"""Jumps to a batch by its name or id, or to an item by the beginning of its key."""

from dataclasses import dataclass

from django.db.models import OuterRef, Q, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from batchboard.models import Batch, Item
from batchboard.views.columns import BY_NAME, column_of
from batchboard.views.item_search import begins
from batchboard.views.requests import is_fragment

LONGEST = 200
BATCHES, ITEMS = 6, 5
BATCHES_SEARCHED = 1_000
"""Keys are looked for in the newest batches only: one step in the index of keys for each."""


@dataclass(frozen=True)
class Hit:
    """One place to jump to, and what tells it from others of the same name."""

    id: str
    name: str
    detail: str
    address: str
    is_item: bool = False


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    text = request.GET.get("q", "").strip()[:LONGEST].replace("\0", "")
    context = {"asked": text, "hits": hits(text) if text else []}
    name = "search/_hits.html" if is_fragment(request) else "search/search.html"
    return render(request, name, context)


def hits(text: str) -> list[Hit]:
    """Batches first, newest first; both short, since whoever sees more types more."""
    return [*_batches(text), *_items(text)]


def _batches(text: str) -> list[Hit]:
    named = Q(name__icontains=text) | Q(public_id__startswith=text)
    found = Batch.objects.on_board().arrived().filter(named).select_related("version__task_type")
    return [
        Hit(
            f"hit-{batch.public_id}",
            batch.name,
            BY_NAME[column_of(batch.state, batch.started_at)].title,
            reverse("batch", args=[batch.public_id]),
        )
        for batch in found[:BATCHES]
    ]


def _items(text: str) -> list[Hit]:
    """Those of the newest batch first. However many keys begin so, no more are read than are
    shown: a step in the index of keys for each batch, then the first few of a few batches."""
    newest = Batch.objects.on_board().arrived().order_by("-pk").values_list("pk", flat=True)
    alike = Item.objects.filter(begins(text)).order_by("key")
    first = alike.filter(batch=OuterRef("pk")).values("pk")[:1]
    holding = (
        Batch.objects.filter(pk__in=list(newest[:BATCHES_SEARCHED]))
        .annotate(first=Subquery(first))
        .filter(first__isnull=False)
        .order_by("-pk")[:ITEMS]
    )
    found: list[Hit] = []
    for batch in holding:
        found += [
            Hit(
                f"hit-{item.pk}",
                item.key,
                batch.name,
                reverse("item", args=[batch.public_id, item.key]),
                is_item=True,
            )
            for item in alike.filter(batch=batch)[: ITEMS - len(found)]
        ]
        if len(found) == ITEMS:
            break
    return found
