"""The simulator's own endpoints under /_simulator: what it saw, and how it behaves."""

import json

from aiohttp import web

from .batches import BATCHES
from .endpoint import PROVIDER, read_json
from .errors import ProviderError

LINES_AT_ONCE = 500


async def statistics(request: web.Request) -> web.Response:
    return web.json_response(request.app[PROVIDER].ledger.statistics())


async def calls(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "application/x-jsonl"})
    await response.prepare(request)
    lines: list[str] = []
    for call in request.app[PROVIDER].ledger.calls():
        lines.append(json.dumps(call))
        if len(lines) == LINES_AT_ONCE:
            await response.write(_block(lines))
            lines.clear()
    await response.write(_block(lines))
    await response.write_eof()
    return response


async def reset(request: web.Request) -> web.Response:
    await request.app[BATCHES].clear()
    request.app[PROVIDER].reset()
    return web.json_response(request.app[PROVIDER].ledger.statistics())


async def change_options(request: web.Request) -> web.Response:
    try:
        changes = await read_json(request)
        if not isinstance(changes, dict):
            raise ValueError("expected a JSON object of option names")
        request.app[PROVIDER].change(changes)
    except (ProviderError, ValueError) as error:
        return web.json_response({"error": str(error)}, status=400)
    return _options(request)


async def show_options(request: web.Request) -> web.Response:
    return _options(request)


def _options(request: web.Request) -> web.Response:
    options = {**vars(request.app[PROVIDER].options)}
    return web.json_response({**options, "spend_limit_usd": f"{options['spend_limit_usd']:f}"})


def _block(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()
