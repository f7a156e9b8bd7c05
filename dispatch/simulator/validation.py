"""What the provider refuses before it does any work."""

from typing import Any

from .errors import invalid, not_found
from .prices import MODELS

REMOVED = ("temperature", "top_p", "top_k")


def check_request(body: Any, *, batched: bool = False) -> None:
    """Raise the provider's error for a body that `messages` would not accept."""
    check_prompt(body)
    max_tokens = body.get("max_tokens")
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or max_tokens < 0:
        raise invalid("max_tokens: a whole number is required")
    for name in REMOVED:
        if name in body:
            raise invalid(f"{name}: sampling parameters are not supported")
    if max_tokens == 0:
        _check_priming(body, batched)


def check_prompt(body: Any) -> None:
    """The part that `count_tokens` checks too."""
    if not isinstance(body, dict):
        raise invalid("The body must be a JSON object")
    model = body.get("model")
    if not isinstance(model, str):
        raise invalid("model: Field required")
    if model not in MODELS:
        raise not_found(f"model: {model}")
    _check_messages(body.get("messages"))
    _check_content(body.get("system") or "", "system")
    tools = body.get("tools") or []
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise invalid("tools: must be a list of objects")
    _check_format(body.get("output_config"))


def _check_messages(messages: Any) -> None:
    if not isinstance(messages, list) or not messages:
        raise invalid("messages: at least one message is required")
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            raise invalid(f"messages.{number}.role: must be 'user' or 'assistant'")
        content = message.get("content")
        if not content:
            raise invalid(f"messages.{number}.content: must not be empty")
        _check_content(content, f"messages.{number}.content")


def _check_content(content: Any, where: str) -> None:
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise invalid(f"{where}: must be a string or a list of blocks")
    for block in content:
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise invalid(f"{where}: every block needs a type")
        if block["type"] == "text" and not isinstance(block.get("text"), str):
            raise invalid(f"{where}: a text block needs a text")


def _check_format(output_config: Any) -> None:
    if output_config is None:
        return
    if not isinstance(output_config, dict):
        raise invalid("output_config: must be an object")
    output = output_config.get("format")
    if output is None:
        return
    if not isinstance(output, dict) or output.get("type") != "json_schema":
        raise invalid("output_config.format.type: must be 'json_schema'")
    if not isinstance(output.get("schema"), dict):
        raise invalid("output_config.format.schema: must be an object")


def _check_priming(body: dict[str, Any], batched: bool) -> None:
    """`max_tokens: 0` fills the cache and generates nothing; some requests cannot do that."""
    thinking = (body.get("thinking") or {}).get("type", "disabled")
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    structured = (body.get("output_config") or {}).get("format") is not None
    if batched or body.get("stream") or structured or thinking != "disabled" or forced:
        raise invalid("max_tokens: 0 is not allowed in this request")
