"""What defines one version of a task type."""

import json
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


def shared_bytes(system: str, contract: dict[str, Any] | None) -> int:
    """UTF-8 bytes that every call sends beside its item's prompt."""
    schema = "" if contract is None else json.dumps(contract)
    return len(system.encode()) + len(schema.encode())
