"""The Message Batches endpoints."""

import asyncio
import re
from typing import Any

from aiohttp import web

from .batch import Batch
from .endpoint import BATCH_MEGABYTES, endpoint, read_json
from .errors import invalid, not_found
from .provider import Provider

MAX_REQUESTS = 100_000
PAGE = 20
CUSTOM_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Batches:
    """Every batch, oldest first, and the tasks that work on them."""

    def __init__(self) -> None:
        self._batches: dict[str, Batch] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, batch: Batch) -> None:
        self._batches[batch.id] = batch
        task = asyncio.create_task(batch.work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def get(self, id: str) -> Batch:
        if id not in self._batches:
            raise not_found(f"Message batch {id} not found")
        return self._batches[id]

    def remove(self, batch: Batch) -> None:
        del self._batches[batch.id]

    def newest_first(self) -> list[Batch]:
        return list(reversed(self._batches.values()))

    async def clear(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._batches.clear()


BATCHES: web.AppKey[Batches] = web.AppKey("batches", Batches)


@endpoint
async def create_batch(request: web.Request, provider: Provider, request_id: str) -> Any:
    body = await read_json(request, BATCH_MEGABYTES)
    requests = body.get("requests") if isinstance(body, dict) else None
    _check(requests)
    provider.check_spend(provider.ledger)
    batch = Batch(provider, requests or [])
    request.app[BATCHES].add(batch)
    provider.ledger.created_batch()
    await asyncio.sleep(provider.options.batch_answer_seconds)
    return _wire(request, batch)


@endpoint
async def list_batches(request: web.Request, provider: Provider, request_id: str) -> Any:
    query = request.query
    batches = request.app[BATCHES].newest_first()
    ids = [batch.id for batch in batches]
    limit = int(query["limit"]) if query.get("limit", "").isdigit() else PAGE
    if query.get("before_id") in ids:
        end = ids.index(query["before_id"])
        start = max(0, end - limit)
        more = start > 0
    else:
        start = ids.index(query["after_id"]) + 1 if query.get("after_id") in ids else 0
        end = start + limit
        more = end < len(ids)
    page = batches[start:end]
    return {
        "data": [_wire(request, batch) for batch in page],
        "has_more": more,
        "first_id": page[0].id if page else None,
        "last_id": page[-1].id if page else None,
    }


@endpoint
async def get_batch(request: web.Request, provider: Provider, request_id: str) -> Any:
    return _wire(request, _batch(request))


@endpoint
async def cancel_batch(request: web.Request, provider: Provider, request_id: str) -> Any:
    batch = _batch(request)
    batch.cancel()
    return _wire(request, batch)


@endpoint
async def delete_batch(request: web.Request, provider: Provider, request_id: str) -> Any:
    batch = _batch(request)
    if not batch.ended:
        raise invalid("A message batch can only be deleted after it has ended")
    request.app[BATCHES].remove(batch)
    return {"id": batch.id, "type": "message_batch_deleted"}


@endpoint
async def batch_results(request: web.Request, provider: Provider, request_id: str) -> Any:
    batch = _batch(request)
    if not batch.ended:
        raise not_found(f"Message batch {batch.id} has no results yet")
    headers = {"content-type": "application/x-jsonl", "request-id": request_id}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    seconds = provider.options.batch_line_seconds
    at_once = 1 if seconds else 100
    for start in range(0, len(batch.results), at_once):
        await asyncio.sleep(seconds)
        await response.write(b"".join(batch.results[start : start + at_once]))
    await response.write_eof()
    return response


def _check(requests: Any) -> None:
    if not isinstance(requests, list) or not requests:
        raise invalid("requests: at least one request is required")
    if len(requests) > MAX_REQUESTS:
        raise invalid(f"requests: at most {MAX_REQUESTS} are allowed")
    seen: set[str] = set()
    for each in requests:
        custom_id = each.get("custom_id") if isinstance(each, dict) else None
        if not isinstance(custom_id, str) or not CUSTOM_ID.fullmatch(custom_id):
            raise invalid("requests: every request needs a custom_id of 1 to 64 of A-Z a-z 0-9 _ -")
        if custom_id in seen:
            raise invalid(f"requests: custom_id {custom_id} is used twice")
        if not isinstance(each.get("params"), dict):
            raise invalid("requests: every request needs params")
        seen.add(custom_id)


def _batch(request: web.Request) -> Batch:
    return request.app[BATCHES].get(request.match_info["id"])


def _wire(request: web.Request, batch: Batch) -> dict[str, object]:
    url = request.url.origin().with_path(f"/v1/messages/batches/{batch.id}/results")
    return batch.wire(str(url))
