"""cached: a call per item, the shared context written to the provider's cache once and read by
the rest.

An entry can be read only once the answer that wrote it has begun, so the first call goes alone
until then; sent together, every call would pay for writing.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dispatch.modes.single import Single
from dispatch.modes.work import ItemWork, VersionWork

LIFETIME_SECONDS = 300
"""How long an entry lives after it was last written or read."""

MARGIN_SECONDS = 20
"""Counted as cold so long before its end: a call that begins now is read a little later."""

DEFAULT_MINIMUM = 4096
MINIMUM_TOKENS = {
    "claude-fable-5-1": 512,
    "claude-opus-5-5": 512,
    "claude-opus-5": 512,
    "claude-opus-4-8": 1024,
    "claude-opus-4-7": 2048,
    "claude-opus-4-6": 4096,
    "claude-opus-4-5": 4096,
    "claude-sonnet-5-5": 512,
    "claude-sonnet-5": 1024,
    "claude-sonnet-4-6": 1024,
    "claude-sonnet-4-5": 1024,
    "claude-haiku-5-5": 512,
    "claude-haiku-4-5": 4096,
}
"""Tokens below which the provider caches nothing, from its documentation of prompt caching."""


class Cached(Single):
    def caches(self, version: VersionWork) -> bool:
        if version.shared_tokens is None:
            return False
        return bool(version.system) and version.shared_tokens >= minimum_tokens(version.model)

    def alone(self, version: VersionWork, warm_until: datetime | None, now: datetime) -> bool:
        return self.caches(version) and (warm_until is None or warm_until <= now)

    def request(
        self, version: VersionWork, items: Sequence[ItemWork], max_tokens: int
    ) -> dict[str, Any]:
        arguments = super().request(version, items, max_tokens)
        if self.caches(version):
            arguments["system"] = [
                {
                    "type": "text",
                    "text": version.system,
                    "cache_control": {"type": "ephemeral"},
                }
            ]
        return arguments


def minimum_tokens(model: str) -> int:
    """The least number of tokens that the provider caches for `model`; dated names count as
    their undated ones, and an unknown model gets the highest minimum of all."""
    for name, minimum in MINIMUM_TOKENS.items():
        if model == name or model.startswith(f"{name}-20"):
            return minimum
    return DEFAULT_MINIMUM
