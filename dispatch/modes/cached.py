"""cached: a call per item, the shared context written to the provider's cache once and read by
the rest.

An entry can be read only once the answer that wrote it has begun, so the first call goes alone
until then; sent together, every call would pay for writing.
"""

from dispatch.modes.single import Single
from dispatch.modes.work import VersionWork

LIFETIME_SECONDS = {"5m": 300, "1h": 3600}
"""How long an entry lives after it was last written or read, by the mark that wrote it."""

MARGIN_SECONDS = 20
"""Counted as cold so long before its end: a call that begins now is read a little later."""

LONG_GAP_SECONDS = 240
"""Where calls follow each other more slowly, entries of five minutes would be written again and
again; one of an hour costs 2 times the input once, and not 1.25 times each time."""

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


def lifetime(gap_seconds: float, *, looks: bool) -> str:
    """How long an entry should live: "1h" where a person looks before the run goes on, or where
    calls are so far apart that one of five minutes would die between them."""
    return "1h" if looks or gap_seconds > LONG_GAP_SECONDS else "5m"


def minimum_tokens(model: str) -> int:
    """The least number of tokens that the provider caches for `model`; dated names count as
    their undated ones, and an unknown model gets the highest minimum of all."""
    for name, minimum in MINIMUM_TOKENS.items():
        if model == name or model.startswith(f"{name}-20"):
            return minimum
    return DEFAULT_MINIMUM
