"""The provider's message batches: create one, look for one, ask about it, stop it, read it.

The API takes no idempotency key, and the SDK's client would send again by itself; so `max_retries`
is 0, and who asks has to know whether an error means that nothing was created.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any

import httpx2
from django.conf import settings

from batchboard.pricing import Usage
from dispatch.calls import Reply
from dispatch.outcome import Outcome
from dispatch.provider import read_message

if TYPE_CHECKING:
    import anthropic
    from anthropic.types.messages import MessageBatch
else:
    from dispatch.sdk import anthropic

PATH = "/v1/messages/batches"
ASK_SECONDS = 30.0
READ_SECONDS = 120.0
PAGE = 100

ERRORS = {
    "invalid_request_error": Outcome.INVALID,
    "request_too_large": Outcome.INVALID,
    "authentication_error": Outcome.UNAUTHORISED,
    "permission_error": Outcome.UNAUTHORISED,
    "not_found_error": Outcome.UNAUTHORISED,
    "billing_error": Outcome.SPEND_CAP,
    "rate_limit_error": Outcome.RATE_LIMITED,
    "timeout_error": Outcome.TIMEOUT,
    "overloaded_error": Outcome.OVERLOADED,
    "api_error": Outcome.SERVER,
}
NOTHING = Usage()
NEVER_CONNECTED = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


def failures() -> tuple[type[Exception], ...]:
    """What a request to the provider may raise."""
    return anthropic.AnthropicError, httpx2.HTTPError


@dataclass(frozen=True, slots=True)
class Seen:
    """A message batch as the provider tells of it."""

    id: str
    requests: int
    created_at: datetime
    ended_at: datetime | None


class MessageBatches:
    """One client, for one piece of work at a time. Its methods raise what is in failures()."""

    def __init__(self) -> None:
        self._client = anthropic.Anthropic(
            api_key=settings.ANTHROPIC_API_KEY or "simulated",
            base_url=settings.ANTHROPIC_BASE_URL,
            max_retries=0,
        )

    def __enter__(self) -> MessageBatches:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def create(self, body: IO[bytes], seconds: float) -> Seen:
        """Send a body that `write_body` wrote; it is read as it goes out."""
        created = self._client.post(
            PATH,
            cast_to=anthropic.types.messages.MessageBatch,
            content=body,
            options={"timeout": seconds},
        )
        return _seen(created)

    def created_since(self, moment: datetime) -> Iterator[Seen]:
        """Those created since then, newest first, whoever created them."""
        for found in self._client.messages.batches.list(limit=PAGE, timeout=ASK_SECONDS):
            if found.created_at < moment:
                return
            yield _seen(found)

    def look_at(self, id: str) -> Seen:
        return _seen(self._client.messages.batches.retrieve(id, timeout=ASK_SECONDS))

    def cancel(self, id: str) -> None:
        self._client.messages.batches.cancel(id, timeout=ASK_SECONDS)

    def results(self, id: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The custom id and the result of each request, in any order, as they come in."""
        answer = self._client.messages.batches.with_streaming_response.results(
            id, timeout=READ_SECONDS
        )
        with answer as response:
            for line in _lines(response.iter_bytes()):
                try:
                    found = json.loads(line)
                    yield str(found["custom_id"]), dict(found["result"])
                except (ValueError, KeyError, TypeError):
                    # What cannot be read is a request without a result.
                    continue


def write_body(file: IO[bytes], requests: Iterable[tuple[str, dict[str, Any]]]) -> int:
    """Write the body of a creation, request by request; returns how many."""
    count = 0
    file.write(b'{"requests":[')
    for custom_id, arguments in requests:
        if count:
            file.write(b",")
        request = {"custom_id": custom_id, "params": arguments}
        text = json.dumps(request, ensure_ascii=False, separators=(",", ":"))
        file.write(text.encode(errors="replace"))
        count += 1
    file.write(b"]}")
    return count


def never_sent(error: Exception) -> bool:
    """Whether the request cannot have reached the provider, because no connection came about."""
    return isinstance(error, NEVER_CONNECTED) or isinstance(error.__cause__, NEVER_CONNECTED)


def read_result(result: dict[str, Any], *, cancelled: bool) -> Reply:
    """What the result of one request means; only what succeeded is billed. `cancelled` says that a
    person ended the batch: else the provider itself left off."""
    kind = result.get("type")
    if kind == "succeeded":
        try:
            return read_message(result["message"], 200, {})
        except (KeyError, TypeError, AttributeError) as error:
            return Reply(Outcome.UNKNOWN, f"{type(error).__name__}: {error}"[:300])
    if kind == "errored":
        return _errored(result.get("error") or {})
    if kind == "canceled" and cancelled:
        return Reply(Outcome.CANCELLED, "A person cancelled the batch.", usage=NOTHING)
    if kind in {"canceled", "expired"}:
        problem = "The provider's message batch ended before it was worked on."
        return Reply(Outcome.EXPIRED, problem, usage=NOTHING)
    return Reply(Outcome.UNKNOWN, f"A result of the kind {kind!r}."[:300])


def _errored(error: dict[str, Any]) -> Reply:
    inner = error.get("error")
    told = inner if isinstance(inner, dict) else error
    message = str(told.get("message") or "")
    outcome = ERRORS.get(str(told.get("type")), Outcome.UNKNOWN)
    if "API usage limits" in message:
        outcome = Outcome.SPEND_CAP
    return Reply(
        outcome,
        f"{told.get('type')}: {message}"[:300],
        usage=NOTHING,
        request_id=str(error.get("request_id") or ""),
    )


def _lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Lines by the line feed alone: an answer may hold what Python takes for other line ends."""
    rest = b""
    for part in parts:
        *whole, rest = (rest + part).split(b"\n")
        yield from (line for line in whole if line.strip())
    if rest.strip():
        yield rest


def _seen(found: MessageBatch) -> Seen:
    counts = found.request_counts
    total = counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
    ended = found.ended_at if found.processing_status == "ended" else None
    if found.processing_status == "ended" and ended is None:
        ended = found.created_at
    return Seen(found.id, total, found.created_at, ended)
