"""Messages as the provider writes them."""

from .provider import Generation


def message(
    request_id: str, generation: Generation, service_tier: str = "standard"
) -> dict[str, object]:
    """A whole message."""
    answer = generation.answer
    return {
        **message_head(request_id, generation),
        "content": [{"type": "text", "text": answer.text}] if answer.text else [],
        "stop_reason": answer.stop_reason,
        "stop_details": stop_details(answer.stop_reason),
        "usage": generation.usage.wire(service_tier),
    }


def message_head(request_id: str, generation: Generation) -> dict[str, object]:
    """A message that has not begun yet, as a stream opens with it."""
    return {
        "id": "msg" + request_id.removeprefix("req"),
        "type": "message",
        "role": "assistant",
        "model": generation.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": generation.plan.usage.with_output(1).wire(),
    }


def stop_details(stop_reason: str) -> dict[str, object] | None:
    if stop_reason != "refusal":
        return None
    return {"type": "refusal", "category": None, "explanation": None}
