"""What every endpoint shares: keys, bodies, request ids and errors."""

import json
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from aiohttp import web

from .errors import ProviderError, invalid, too_large, unauthenticated
from .provider import Provider

MEGABYTE = 1 << 20
MESSAGE_MEGABYTES = 32
BATCH_MEGABYTES = 256

PROVIDER: web.AppKey[Provider] = web.AppKey("provider", Provider)
Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


def authenticate(request: web.Request) -> None:
    headers = request.headers
    scheme, _, key = headers.get("Authorization", "").partition(" ")
    if not (headers.get("x-api-key") or (scheme.lower() == "bearer" and key.strip())):
        raise unauthenticated()


async def read_json(request: web.Request, megabytes: int = MESSAGE_MEGABYTES) -> Any:
    try:
        data = await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise too_large(megabytes) from None
    if len(data) > megabytes * MEGABYTE:
        raise too_large(megabytes)
    try:
        return json.loads(data)
    except ValueError:
        raise invalid("The request body is not valid JSON") from None


def json_answer(
    body: bytes, request_id: str, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    always = {"content-type": "application/json", "request-id": request_id}
    return web.Response(body=body, status=status, headers={**always, **(headers or {})})


def error_answer(
    error: ProviderError, request_id: str, headers: dict[str, str] | None = None
) -> web.Response:
    headers = dict(headers or {})
    if error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    return json_answer(error.body(request_id), request_id, error.status, headers)


def endpoint(handler: Callable[[web.Request, Provider, str], Awaitable[Any]]) -> Answering:
    """An authenticated endpoint that returns a JSON value or a response of its own."""

    @wraps(handler)
    async def answering(request: web.Request) -> web.StreamResponse:
        provider = request.app[PROVIDER]
        request_id = provider.ledger.next_id("req")
        try:
            authenticate(request)
            result = await handler(request, provider, request_id)
        except ProviderError as error:
            return error_answer(error, request_id)
        if isinstance(result, web.StreamResponse):
            return result
        return json_answer(json.dumps(result).encode(), request_id)

    return answering
