"""A request's prompt as blocks in cache order: tools, output schema, system, messages."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from .errors import invalid
from .tokens import REQUEST_OVERHEAD, block_tokens, compact

MAX_BREAKPOINTS = 4
TTL_SECONDS = {"5m": 300, "1h": 3600}


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """The prompt up to and with block number `block` is to be cached for `ttl` seconds."""

    block: int
    ttl: int


class Prompt:
    """`item` is the first 16 hex digits of the SHA-256 of the last user message's text."""

    __slots__ = ("_keys", "_sizes", "_texts", "breakpoints", "item", "last_text", "model", "tokens")

    def __init__(self, body: dict[str, Any]) -> None:
        self.model: str = body["model"]
        self._texts: list[str] = []
        self.breakpoints: list[Breakpoint] = []
        for text, cache_control in _blocks(body):
            if cache_control is not None:
                self.breakpoints.append(Breakpoint(len(self._texts), _ttl(cache_control)))
            self._texts.append(text)
        if body.get("cache_control") is not None:
            self._mark_last(_ttl(body["cache_control"]))
        if len(self.breakpoints) > MAX_BREAKPOINTS:
            raise invalid(f"A maximum of {MAX_BREAKPOINTS} blocks with cache_control is allowed")
        self.tokens = REQUEST_OVERHEAD + sum(map(block_tokens, self._texts))
        self.last_text = _last_user_text(body["messages"])
        digest = hashlib.sha256(self.last_text.encode("utf-8", "surrogatepass"))
        self.item = digest.hexdigest()[:16]
        self._sizes: list[int] = []
        self._keys: list[int] = []

    def prefix_tokens(self, block: int) -> int:
        if not self._sizes:
            self._sizes = list(accumulate(map(block_tokens, self._texts)))
        return self._sizes[block]

    def prefix_key(self, block: int) -> int:
        """Equal for equal prefixes within this process."""
        if not self._keys:
            key = hash(self.model)
            for text in self._texts:
                key = hash((key, text))
                self._keys.append(key)
        return self._keys[block]

    def _mark_last(self, ttl: int) -> None:
        last = len(self._texts) - 1
        if not self.breakpoints or self.breakpoints[-1].block != last:
            self.breakpoints.append(Breakpoint(last, ttl))


def _blocks(body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for tool in body.get("tools") or ():
        yield compact(tool), tool.get("cache_control")
    schema = schema_of(body)
    if schema is not None:
        yield compact(schema), None
    yield from _content(body.get("system") or ())
    for message in body["messages"]:
        yield from _content(message["content"])


def _content(content: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(content, str):
        yield content, None
        return
    for block in content:
        text = block["text"] if block.get("type") == "text" else compact(block)
        yield text, block.get("cache_control")


def schema_of(body: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON Schema of a structured answer, when one is asked for."""
    output = (body.get("output_config") or {}).get("format")
    return None if output is None else output["schema"]


def _ttl(cache_control: Any) -> int:
    if not isinstance(cache_control, dict) or cache_control.get("type") != "ephemeral":
        raise invalid("cache_control.type: must be 'ephemeral'")
    ttl = TTL_SECONDS.get(cache_control.get("ttl") or "5m")
    if ttl is None:
        raise invalid("cache_control.ttl: must be '5m' or '1h'")
    return ttl


def _last_user_text(messages: list[dict[str, Any]]) -> str:
    for message in reversed(messages):
        if message["role"] == "user":
            content = message["content"]
            if isinstance(content, str):
                return content
            return "\n".join(block["text"] for block in content if block.get("type") == "text")
    return ""
