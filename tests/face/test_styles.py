"""One file for each component: what one of them styles, no other changes by accident."""

import re
from collections import defaultdict
from pathlib import Path

CSS = Path(__file__).resolve().parents[2] / "static" / "css"
DRAWN = {"#hatch"}
"""The one thing that is styled by its id: a pattern that an SVG names."""


def selectors(file: Path) -> list[str]:
    text = re.sub(r"/\*.*?\*/", "", file.read_text(), flags=re.DOTALL)
    heads = [head for head in re.findall(r"([^{}]+)\{", text) if "@" not in head]
    return [selector.strip() for head in heads for selector in head.split(",")]


def test_a_class_belongs_to_one_file():
    files = defaultdict(set)
    for file in CSS.glob("*.css"):
        for selector in selectors(file):
            if re.fullmatch(r"\.[\w-]+", selector):
                files[selector].add(file.name)
    assert {name: found for name, found in files.items() if len(found) > 1} == {}


def test_nothing_is_styled_by_an_id_alone():
    """An id is a page's own, and the styles of all pages are loaded on each."""
    found = {
        selector
        for file in CSS.glob("*.css")
        for selector in selectors(file)
        if selector.startswith("#") and selector.split()[0] not in DRAWN
    }
    assert found == set()
