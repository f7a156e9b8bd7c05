"""A stand-in for the provider's tokeniser: deterministic, local, never above the byte count."""

import json

BYTES_PER_TOKEN = 4
BLOCK_OVERHEAD = 2
REQUEST_OVERHEAD = 8


def text_tokens(text: str) -> int:
    """Tokens of a bare text, as generated output counts."""
    return -(-byte_length(text) // BYTES_PER_TOKEN)


def block_tokens(text: str) -> int:
    """Tokens of a prompt block: its text and a little framing."""
    size = byte_length(text)
    return min(size, -(-size // BYTES_PER_TOKEN) + BLOCK_OVERHEAD)


def byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def compact(value: object) -> str:
    """JSON as it is counted: without spaces, non-ASCII text as it is."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
