"""One item: what went in, what was sent, what came back, and every try. In the drawer of the
batch's page, and as a page of its own address."""

from dataclasses import dataclass, replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from batchboard import strict_json, template
from batchboard.models import Batch, Item
from batchboard.models.looking import Returned, returned
from batchboard.roles import Right, may
from batchboard.states import UNFINISHED_BATCH, BatchState, ItemState
from batchboard.views.asked import Asked
from batchboard.views.excerpt import Excerpt, as_text, excerpt
from batchboard.views.failures import said
from batchboard.views.item_search import found
from batchboard.views.requests import is_fragment
from batchboard.views.tries import tries


@dataclass(frozen=True)
class Field:
    """One named value, of the input or of an answer under a contract."""

    name: str
    value: Excerpt


@dataclass(frozen=True)
class Output:
    """The result: the fields of an answer under a contract, and the answer as it came."""

    raw: Excerpt
    fields: list[Field]
    released: bool


@require_safe
@vary_on_headers("HX-Request")
def item(request: HttpRequest, public_id: str, key: str) -> HttpResponse:
    batch, shown = _find(public_id, key)
    asked = Asked.of(request.GET)
    whole = request.GET.get("all", "")
    came = returned(shown)
    attempts = list(shown.attempts.select_related("price", "submission").order_by("id"))
    context = {
        "batch": batch,
        "item": shown,
        "asked": asked,
        "address": reverse("item", args=[public_id, key]) + asked.filter,
        "back": reverse("batch", args=[public_id]) + asked.filter,
        "input": _fields(shown.input.data, "input", whole),
        "prompt": excerpt("prompt", template.render(batch.version.prompt, shown.input.data),
                          whole == "prompt"),
        "system": excerpt("system", batch.version.system, whole == "system"),
        "output": _output(batch, shown, came, whole),
        "tries": tries(shown, attempts, came, whole),
        "said": said(shown.outcome) if shown.outcome else "",
        "may_send_again": shown.state == ItemState.DEAD
        and batch.state in UNFINISHED_BATCH | {BatchState.REVIEW}
        and may(request.user, Right.OPERATE),
        "previous": _neighbour(batch, asked, shown, "before"),
        "next": _neighbour(batch, asked, shown, "after"),
    }  # fmt: skip
    fragment = is_fragment(request)
    return render(request, "batch/_item.html" if fragment else "batch/item.html", context)


@require_safe
def item_at(request: HttpRequest, public_id: str, position: int) -> HttpResponse:
    """The item at a place of the file: what a cell of the progress bar opens."""
    shown = get_object_or_404(
        Item.objects.only("key"), batch__public_id=public_id, position=position
    )
    return redirect("item", public_id, shown.key)


def _find(public_id: str, key: str) -> tuple[Batch, Item]:
    if "\x00" in key:
        raise Http404
    batch = get_object_or_404(
        Batch.objects.select_related("version__task_type"), public_id=public_id
    )
    return batch, get_object_or_404(batch.items.select_related("input"), key=key)


def _output(batch: Batch, shown: Item, came: dict[int, Returned], whole: str) -> Output | None:
    back = came.get(shown.result_id or 0)
    if back is None:
        return None
    return Output(
        raw=excerpt("output", back.text, whole == "output"),
        fields=_contract_fields(batch, back.text, whole),
        released=batch.state == BatchState.RELEASED,
    )


def _contract_fields(batch: Batch, text: str, whole: str) -> list[Field]:
    if batch.version.contract is None:
        return []
    try:
        value = strict_json.parse(text)
    except ValueError:
        return []
    return _fields(value, "output", whole) if isinstance(value, dict) else []


def _fields(data: dict[str, Any], kind: str, whole: str) -> list[Field]:
    return [
        Field(name, excerpt(f"{kind}.{place}", as_text(value), whole == f"{kind}.{place}"))
        for place, (name, value) in enumerate(data.items())
    ]


def _neighbour(batch: Batch, asked: Asked, shown: Item, side: str) -> str:
    """The address of the item before or after this one, among those that the filter finds."""
    edge = {"after": "", "before": "", side: str(getattr(shown, asked.column))}
    items = found(batch, replace(asked, **edge), 1)
    if not items:
        return ""
    return reverse("item", args=[batch.public_id, items[0].key]) + asked.filter
