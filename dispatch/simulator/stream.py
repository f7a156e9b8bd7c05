"""An answer as server-sent events."""

import asyncio
import json

from aiohttp import web

from .fault import Fault
from .ledger import Call, Ledger
from .provider import Generation, Provider
from .wire import message_head, stop_details

PIECES = 8
_OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


async def stream_answer(
    request: web.Request, provider: Provider, ledger: Ledger, call: Call, generation: Generation
) -> web.StreamResponse:
    """Send the answer piece by piece over the latency that was drawn, and charge it at its end."""
    latency = generation.fate.latency
    before = latency * provider.options.first_token_share
    await asyncio.sleep(before)
    provider.begin(generation)
    response = await _opened(request, provider, call)
    await response.write(_event("message_start", message=message_head(call.request_id, generation)))
    await response.write(_block_start() + _event("ping"))
    pieces = _pieces(generation.answer.text)
    for number, piece in enumerate(pieces):
        await asyncio.sleep((latency - before) / len(pieces))
        if call.fault == Fault.STREAM_ERROR and number >= len(pieces) // 2:
            await response.write(_event("error", **_OVERLOADED))
            await response.write_eof()
            return response
        await response.write(_delta(piece))
    await response.write(_event("content_block_stop", index=0) + _message_delta(generation))
    provider.finish(generation, call, ledger, answered=True)
    await response.write(_event("message_stop"))
    await response.write_eof()
    return response


async def _opened(request: web.Request, provider: Provider, call: Call) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={
            "content-type": "text/event-stream; charset=utf-8",
            "cache-control": "no-cache",
            "request-id": call.request_id,
            **provider.limit_headers(call.model),
        }
    )
    await response.prepare(request)
    call.status = 200
    return response


def _pieces(text: str) -> list[str]:
    size = max(1, -(-len(text) // PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def _block_start() -> bytes:
    return _event("content_block_start", index=0, content_block={"type": "text", "text": ""})


def _delta(piece: str) -> bytes:
    return _event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})


def _message_delta(generation: Generation) -> bytes:
    stop_reason = generation.answer.stop_reason
    delta = {
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "stop_details": stop_details(stop_reason),
    }
    usage = generation.usage.wire()
    cumulative = {name: value for name, value in usage.items() if name.endswith("_tokens")}
    return _event("message_delta", delta=delta, usage=cumulative)


def _event(name: str, **fields: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()
