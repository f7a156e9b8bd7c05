"""An item that waits in line for a call, as modes see it."""

from dataclasses import dataclass


@dataclass(slots=True)
class Queued:
    """An item that may be called now."""

    id: int
    key: str
    position: int
    prompt_bytes: int
    outcome: str
    """How its last attempt ended; empty where it has none."""

    widened: bool
    """Whether it is sent with twice the tokens, because an answer of it was cut off."""
