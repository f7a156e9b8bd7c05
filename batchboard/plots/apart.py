"""Names and labels that would stand on each other are kept apart."""

from collections.abc import Iterable
from dataclasses import replace

from batchboard.plots.parts import BODY, HEADROOM, Box, Line

LETTER_SHARE = 0.9
"""A letter's width in percent of a plot of middling width: enough to keep labels apart."""

NAME_HEIGHT = 13


def spread(lines: list[Line]) -> list[Line]:
    """The same lines, with names that would stand on each other moved up."""
    places: dict[str, float] = {}
    for anchor in ("start", "end"):
        under = float(HEADROOM + BODY)
        for line in sorted(lines, key=lambda line: -line.label_y):
            if line.anchor == anchor and line.path:
                places[line.name] = under = min(line.label_y, under - NAME_HEIGHT)
    return [replace(line, label_y=places.get(line.name, line.label_y)) for line in lines]


def apart(boxes: Iterable[Box]) -> list[Box]:
    """The same boxes, without the labels that would stand on another's; the latest one stays."""
    kept: list[Box] = []
    free_until = 101.0
    for box in sorted(boxes, key=lambda box: box.x, reverse=True):
        width = len(box.label) * LETTER_SHARE
        left = box.label_x - width if box.anchor == "end" else box.label_x
        if not box.label or left + width > free_until:
            kept.append(Box(box.x, box.width, box.y, box.height, tone=box.tone))
        else:
            kept.append(box)
            free_until = left - 1
    return kept[::-1]
