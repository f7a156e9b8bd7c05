"""What a mode needs to know of a task type version and of an item, and no more."""

from dataclasses import dataclass, field
from typing import Any

from dispatch import contract as contracts


@dataclass(frozen=True, slots=True)
class ItemWork:
    """One item to be sent: its key and its row."""

    key: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a conversation holds already: an item's row, and what came back for it."""

    data: dict[str, Any]
    reply: str


@dataclass(frozen=True, slots=True)
class Framing:
    """What surrounds the items of one call.

    `cache` is how long the provider is to keep what the call writes ("5m" or "1h"), and empty
    where nothing is to be cached. `salt` is sent before everything else. `history` holds the
    earlier turns of the conversation, and `last` says that no turn will follow.
    """

    cache: str = ""
    salt: str = ""
    history: tuple[Turn, ...] = ()
    last: bool = False


@dataclass(frozen=True)
class VersionWork:
    """A task type version as calls need it. It never changes, so a process keeps it."""

    id: int
    model: str
    system: str
    prompt: str
    max_tokens: int
    schema: dict[str, Any] | None
    shared_tokens: int | None
    shared_bytes: int
    contract: contracts.Contract | None = field(init=False)

    def __post_init__(self) -> None:
        compiled = None if self.schema is None else contracts.compile(self.schema)
        object.__setattr__(self, "contract", compiled)
