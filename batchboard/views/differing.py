"""What changed between two versions of a task type, line by line."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from batchboard.definition_form import LABELS, PREFIX

AROUND = 3
"""Lines that are shown before and after a change."""

MOST_LINES = 4_000


@dataclass(frozen=True)
class DiffLine:
    """One line; `kind` is same, out, in, or gap where lines were left out."""

    kind: str
    text: str

    @property
    def mark(self) -> str:
        return {"out": "−", "in": "+"}.get(self.kind, " ")

    @property
    def words(self) -> str:
        return {"out": "removed: ", "in": "added: "}.get(self.kind, "")


@dataclass(frozen=True)
class Change:
    """A field that differs."""

    label: str
    lines: list[DiffLine]


def changes(older: Mapping[str, str], newer: Mapping[str, str]) -> list[Change]:
    """Fields that differ between two forms, in the form's order."""
    return [
        Change(label, diff(older.get(PREFIX + name, ""), newer.get(PREFIX + name, "")))
        for name, label in LABELS.items()
        if older.get(PREFIX + name, "") != newer.get(PREFIX + name, "")
    ]


def diff(older: str, newer: str) -> list[DiffLine]:
    before, after = older.splitlines()[:MOST_LINES], newer.splitlines()[:MOST_LINES]
    found: list[DiffLine] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    groups = matcher.get_grouped_opcodes(AROUND)
    for number, group in enumerate(groups):
        if number:
            found.append(DiffLine("gap", "…"))
        for kind, a_from, a_to, b_from, b_to in group:
            if kind == "equal":
                found += [DiffLine("same", line) for line in before[a_from:a_to]]
                continue
            found += [DiffLine("out", line) for line in before[a_from:a_to]]
            found += [DiffLine("in", line) for line in after[b_from:b_to]]
    return found
