"""POST /v1/messages and POST /v1/messages/count_tokens."""

import asyncio
import json
from typing import Any

from aiohttp import web

from .endpoint import PROVIDER, authenticate, endpoint, error_answer, json_answer, read_json
from .errors import ProviderError
from .fault import Fault
from .ledger import Call, Ledger
from .prompt import Prompt
from .provider import Generation, Provider
from .stream import stream_answer
from .validation import check_prompt
from .wire import message


async def create_message(request: web.Request) -> web.StreamResponse:
    """A call is in flight from here to the return, or until its client leaves."""
    provider = request.app[PROVIDER]
    ledger = provider.ledger
    call = ledger.arrive()
    try:
        authenticate(request)
        body = await read_json(request)
        generation = provider.accept(body, call, ledger)
        return await _answer(request, provider, ledger, call, generation)
    except ProviderError as error:
        call.status = error.status
        headers = provider.limit_headers(call.model, refused=error.status == 429)
        return error_answer(error, call.request_id, headers)
    finally:
        ledger.end(call)


@endpoint
async def count_tokens(request: web.Request, provider: Provider, request_id: str) -> Any:
    body = await read_json(request)
    check_prompt(body)
    return {"input_tokens": Prompt(body).tokens}


async def _answer(
    request: web.Request,
    provider: Provider,
    ledger: Ledger,
    call: Call,
    generation: Generation,
) -> web.StreamResponse:
    if generation.fate.fault is Fault.HANG:
        return await _never()
    if generation.fate.fault is Fault.DROP:
        return await _cut(request, provider, generation)
    try:
        if generation.stream:
            return await stream_answer(request, provider, ledger, call, generation)
        await _generate(provider, generation)
    except (asyncio.CancelledError, ConnectionError):
        # The client left while its answer was made: the worst case is that all of it is charged.
        if call.usage is None and call.fault != Fault.STREAM_ERROR:
            provider.finish(generation, call, ledger, answered=False)
        raise
    provider.finish(generation, call, ledger, answered=True)
    call.status = 200
    content = json.dumps(message(call.request_id, generation)).encode()
    return json_answer(content, call.request_id, 200, provider.limit_headers(call.model))


async def _generate(provider: Provider, generation: Generation) -> None:
    latency = generation.fate.latency
    if not generation.plan.writes:
        if latency:
            await asyncio.sleep(latency)
        return
    before = latency * provider.options.first_token_share
    await asyncio.sleep(before)
    provider.begin(generation)
    await asyncio.sleep(latency - before)


async def _cut(
    request: web.Request, provider: Provider, generation: Generation
) -> web.StreamResponse:
    await asyncio.sleep(generation.fate.latency * provider.options.first_token_share)
    if request.transport is not None:
        request.transport.abort()
    return await _never()


async def _never() -> web.StreamResponse:
    """Until the handler is cancelled, which is when the connection ends."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nothing sets this future")
