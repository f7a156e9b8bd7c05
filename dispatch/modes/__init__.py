"""Request modes: how items become calls, and answers become items' results.

Everything that differs between modes is behind this seam; the governor, the runner and the
recorder treat all of them alike.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from dispatch.calls import Call, PartReply, Reply
from dispatch.modes import cached, single
from dispatch.modes.work import ItemWork, VersionWork


class RequestMode(Protocol):
    """One way to turn items into calls."""

    def items_per_call(self) -> int:
        """How many items one call serves at the most."""

    def caches(self, version: VersionWork) -> bool:
        """Whether calls of this version write to and read from the provider's cache."""

    def alone(self, version: VersionWork, warm_until: datetime | None, now: datetime) -> bool:
        """Whether the next call must go alone until its answer begins."""

    def request(
        self, version: VersionWork, items: Sequence[ItemWork], max_tokens: int
    ) -> dict[str, Any]:
        """The arguments of the provider's messages.create for one call."""

    def read(
        self, version: VersionWork, items: Sequence[ItemWork], call: Call, reply: Reply
    ) -> list[PartReply]:
        """What the answer means for each item, in the order of `items`."""


MODES: Mapping[str, RequestMode] = {"single": single.Single(), "cached": cached.Cached()}
