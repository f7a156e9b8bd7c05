"""What defines one version of a task type."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TaskDefinition:
    """`key` names the column that names an item, `check` is what a reviewer looks at, `contract`
    the JSON Schema that an answer must meet."""

    name: str
    model: str
    system: str
    prompt: str
    max_tokens: int
    key: str | None
    check: tuple[str, ...]
    contract: dict[str, Any] | None
