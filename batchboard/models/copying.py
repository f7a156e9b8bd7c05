"""Items of one batch as new ones for another, under the same version or another."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from batchboard import template
from batchboard.models.arriving import NewItem
from batchboard.states import MoveRefused

if TYPE_CHECKING:
    from batchboard.models.item import ItemQuerySet

PAGE = 1_000


def copies(items: "ItemQuerySet", prompt: str) -> Iterator[NewItem]:
    """The keys and inputs of `items` in the file's order, as items of a version with this prompt.
    Raises MoveRefused where the prompt names a column that an item does not have."""
    needs = template.columns(prompt)
    for key, data in in_pages(items):
        if lacking := sorted(needs - data.keys()):
            raise MoveRefused(
                f"The prompt names {lacking[0]}, which {key} does not have: these items fit"
                " another version of the task type. Nothing was created."
            )
        yield NewItem(key, data, len(template.render(prompt, data).encode()))


def in_pages(items: "ItemQuerySet") -> Iterator[tuple[str, dict[str, Any]]]:
    """Key and input of all of `items` in the file's order, by pages: no cursor stays open while
    they are copied."""
    position = -1
    rows = items.order_by("position").values_list("position", "key", "input__data")
    while page := list(rows.filter(position__gt=position)[:PAGE]):
        for place, key, data in page:
            yield key, data
            position = place
