"""The HTTP server: routes, start and stop."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import uvloop
from aiohttp import web

from . import batches, control, messages
from .endpoint import BATCH_MEGABYTES, MEGABYTE, PROVIDER, endpoint
from .errors import not_found
from .options import Options
from .provider import Provider

SHUTDOWN_SECONDS = 0.5
BACKLOG = 4096


@dataclass(frozen=True)
class Served:
    """A listening simulator: where it is, and its state for tests in the same process."""

    url: str
    provider: Provider


def run(options: Options, host: str = "127.0.0.1", port: int = 0) -> None:
    """Serve until SIGTERM or SIGINT; prints one JSON line with the URL once it listens."""
    uvloop.run(_until_signalled(options, host, port))


@asynccontextmanager
async def serving(
    options: Options, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Served]:
    """Serve within the running event loop; port 0 takes a free one."""
    app = application(options)
    runner = web.AppRunner(
        app, handler_cancellation=True, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, backlog=BACKLOG).start()
        bound = runner.addresses[0][1]
        shown = f"[{host}]" if ":" in host else host
        yield Served(f"http://{shown}:{bound}", app[PROVIDER])
    finally:
        await app[batches.BATCHES].clear()
        await runner.cleanup()


def application(options: Options) -> web.Application:
    app = web.Application(client_max_size=BATCH_MEGABYTES * MEGABYTE)
    app[PROVIDER] = Provider(options)
    app[batches.BATCHES] = batches.Batches()
    one = "/v1/messages/batches/{id}"
    app.add_routes(
        [
            web.post("/v1/messages", messages.create_message),
            web.post("/v1/messages/count_tokens", messages.count_tokens),
            web.post("/v1/messages/batches", batches.create_batch),
            web.get("/v1/messages/batches", batches.list_batches),
            web.get(one, batches.get_batch),
            web.delete(one, batches.delete_batch),
            web.get(one + "/results", batches.batch_results),
            web.post(one + "/cancel", batches.cancel_batch),
            web.get("/_simulator/statistics", control.statistics),
            web.get("/_simulator/calls", control.calls),
            web.post("/_simulator/reset", control.reset),
            web.get("/_simulator/options", control.show_options),
            web.patch("/_simulator/options", control.change_options),
            web.route("*", "/{path:.*}", _nothing_here),
        ]
    )
    return app


@endpoint
async def _nothing_here(request: web.Request, provider: Provider, request_id: str) -> Any:
    raise not_found(f"{request.method} {request.path} does not exist")


async def _until_signalled(options: Options, host: str, port: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop.set)
    async with serving(options, host, port) as served:
        sys.stdout.write(json.dumps({"url": served.url}) + "\n")
        sys.stdout.flush()
        await stop.wait()
