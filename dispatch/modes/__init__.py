"""Request modes: how items become calls, and answers become items' results.

Everything that differs between modes is behind this seam; the governor, the runner and the
recorder treat all of them alike.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from dispatch.calls import Call, PartReply, Reply
from dispatch.modes.cached import Cached
from dispatch.modes.packed import Packed
from dispatch.modes.provider_batch import ProviderBatch
from dispatch.modes.queued import Queued
from dispatch.modes.session import Session
from dispatch.modes.single import Single
from dispatch.modes.work import Framing, ItemWork, VersionWork


class RequestMode(Protocol):
    """One way to turn items into calls."""

    converses: bool
    """Whether a call is a turn of a conversation that goes on with the next item."""

    submits: bool
    """Whether items are sent together in a message batch of the provider, and not as calls."""

    def together(self, version: VersionWork, line: Sequence[Queued], most: int) -> int:
        """How many of the items first in line share the next call: at least one, and at most
        `most`."""

    def max_tokens(self, version: VersionWork, items: int) -> int:
        """Output tokens that a call for so many items may take."""

    def weight(self, prompt_bytes: int, items: int) -> int:
        """The most bytes that items with prompts of so many bytes add to a call."""

    def caches(self, version: VersionWork) -> bool:
        """Whether the shared context is written to the provider's cache, and read by the rest."""

    def request(
        self,
        version: VersionWork,
        items: Sequence[ItemWork],
        max_tokens: int,
        framing: Framing,
    ) -> dict[str, Any]:
        """The arguments of the provider's messages.create for one call."""

    def read(
        self, version: VersionWork, items: Sequence[ItemWork], call: Call, reply: Reply
    ) -> list[PartReply]:
        """What the answer means for each item, in the order of `items`."""


MODES: Mapping[str, RequestMode] = {
    "single": Single(),
    "cached": Cached(),
    "session": Session(),
    "packed": Packed(),
    "provider_batch": ProviderBatch(),
}
