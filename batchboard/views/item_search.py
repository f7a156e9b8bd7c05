"""The items that somebody asks for, as searches that an index serves however many there are."""

from django.db.models import Q

from batchboard.models import Batch, Item, Mode
from batchboard.models.item import ItemQuerySet
from batchboard.states import ItemState
from batchboard.views.asked import Asked

LAST_CHARACTER = "\U0010ffff"
COUNTED = 10_000
"""Up to so many items are counted one by one; beyond, a count takes longer than it is worth."""


def searches(batch: Batch, asked: Asked) -> list[ItemQuerySet]:
    """Searches that together find every item asked for, each in the order of `asked.column`; an
    item may be found by more than one."""
    items = _in_state(batch, asked)
    if asked.outcome:
        items = items.exclude(outcome="").exclude(outcome="ok").filter(outcome=asked.outcome)
    if asked.find:
        return [
            items.filter(begins(asked.find)),
            items.exclude(problem="").filter(problem__icontains=asked.find),
        ]
    if asked.state == ItemState.WAITING:
        fresh = items.filter(due_at__isnull=True, position__gte=batch.cursor)
        return [fresh, items.filter(due_at__isnull=False)]
    return [items]


def chosen(batch: Batch, asked: Asked) -> ItemQuerySet:
    """Everything asked for, as one set that a verb can work on."""
    items = _in_state(batch, asked)
    if asked.outcome:
        items = items.filter(outcome=asked.outcome)
    if asked.find:
        items = items.filter(begins(asked.find) | Q(problem__icontains=asked.find))
    return items


def beside(items: ItemQuerySet, asked: Asked, count: int) -> ItemQuerySet:
    """`count` items next to the edge, nearest first."""
    column = asked.column
    if asked.before:
        items = items.filter(**{f"{column}__lt": asked.edge(asked.before)})
        return items.order_by(f"-{column}")[:count]
    if asked.after:
        items = items.filter(**{f"{column}__gt": asked.edge(asked.after)})
    return items.order_by(column)[:count]


def found(batch: Batch, asked: Asked, count: int) -> list[Item]:
    """The first `count` items from the edge on, each once, nearest first."""
    by_id = {
        item.pk: item for items in searches(batch, asked) for item in beside(items, asked, count)
    }
    nearest = sorted(
        by_id.values(), key=lambda item: getattr(item, asked.column), reverse=bool(asked.before)
    )
    return nearest[:count]


def number_of(items: ItemQuerySet) -> int:
    """How many items, counted up to one more than `COUNTED`."""
    return items.order_by()[: COUNTED + 1].count()


def _in_state(batch: Batch, asked: Asked) -> ItemQuerySet:
    items = Item.objects.filter(batch=batch)
    if asked.state == ItemState.RUNNING and batch.mode != Mode.PROVIDER_BATCH:
        # Few items run at once, and their live attempts name them; without the batch in its
        # conditions, the search cannot be led along the index of all of the batch's positions.
        # What is with the provider may be most of the batch: there the search finds it soon.
        running = list(batch.attempts.live().values_list("item_id", flat=True))
        items = Item.objects.filter(pk__in=running)
    return items.filter(state=asked.state) if asked.state else items


def begins(prefix: str) -> Q:
    """Keys that begin so, as a range that the index of keys serves."""
    return Q(key__gte=prefix, key__lt=prefix + LAST_CHARACTER)
