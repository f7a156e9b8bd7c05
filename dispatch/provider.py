"""The provider's SDK client: one request, one closed outcome, and what it used.

`max_retries` is 0: our scheduler retries. Answers are read as raw JSON, not through the SDK's
models, which costs a third of the processor time of a call; and streams are read only for calls
whose beginning others wait for.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx2
from django.conf import settings

from batchboard.pricing import Usage
from dispatch.calls import Reply, Told
from dispatch.outcome import Outcome

if TYPE_CHECKING:
    import anthropic
else:
    from dispatch.sdk import anthropic

NOTHING = Usage()
MOST_TOKENS = 10**9
MOST_A_MINUTE = 10**9
LONGEST_WAIT_SECONDS = 3600.0
SPEND_CODES = {"enforced_spend_limit_reached", "contract_spend_limit_reached"}
STOPS = {
    "end_turn": Outcome.OK,
    "stop_sequence": Outcome.OK,
    "max_tokens": Outcome.TRUNCATED,
    "model_context_window_exceeded": Outcome.TRUNCATED,
    "refusal": Outcome.REFUSED,
}


UNLIMITED = httpx2.Limits(max_connections=0, max_keepalive_connections=2_000)
"""The cap is the governor's to keep. To aiohttp 0 is no limit, and None its own limit of 100."""


def make_client() -> anthropic.AsyncAnthropic:
    """The one client of a process; must be made inside the event loop that uses it."""
    return anthropic.AsyncAnthropic(
        api_key=settings.ANTHROPIC_API_KEY or "simulated",
        base_url=settings.ANTHROPIC_BASE_URL,
        max_retries=0,
        http_client=anthropic.DefaultAioHttpClient(limits=UNLIMITED),
    )


async def ask(
    client: anthropic.AsyncAnthropic,
    request: dict[str, Any],
    seconds: float,
    on_begin: Callable[[], None] | None = None,
) -> Reply:
    """Send one request and say how it ended; raises nothing but CancelledError.

    `seconds` bounds the whole call. With `on_begin` the answer is streamed, and `on_begin` is
    called when it begins.
    """
    began = time.perf_counter()
    try:
        async with asyncio.timeout(seconds):
            if on_begin is None:
                reply = await _whole(client, request, seconds)
            else:
                reply = await _streamed(client, request, seconds, on_begin)
    except TimeoutError:
        reply = Reply(Outcome.TIMEOUT, f"No answer within {seconds:g} s.")
    except Exception as error:
        reply = reply_to(error)
    reply.latency = time.perf_counter() - began
    return reply


async def count_tokens(client: anthropic.AsyncAnthropic, request: dict[str, Any]) -> int:
    """Input tokens of a request, as the provider counts them."""
    names = ("model", "messages", "system", "output_config", "tools")
    counted = await client.messages.count_tokens(
        **{name: request[name] for name in names if name in request}, timeout=10
    )
    return counted.input_tokens


async def _whole(
    client: anthropic.AsyncAnthropic, request: dict[str, Any], seconds: float
) -> Reply:
    raw = await client.messages.with_raw_response.create(**request, timeout=seconds + 5)
    message = json.loads(raw.http_response.content)
    return read_message(message, raw.status_code, raw.headers)


async def _streamed(
    client: anthropic.AsyncAnthropic,
    request: dict[str, Any],
    seconds: float,
    on_begin: Callable[[], None],
) -> Reply:
    raw = await client.messages.with_raw_response.create(
        **request, timeout=seconds + 5, stream=True
    )
    message: dict[str, Any] = {"usage": {}, "content": [{"type": "text", "text": ""}]}
    async for event in await raw.parse():
        if event.type == "message_start":
            on_begin()
            message["usage"] = event.message.usage.model_dump()
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            message["content"][0]["text"] += event.delta.text
        elif event.type == "message_delta":
            message["stop_reason"] = event.delta.stop_reason
            final = event.usage.model_dump(exclude_none=True)
            message["usage"] |= {k: v for k, v in final.items() if k in message["usage"]}
    return read_message(message, raw.status_code, raw.headers)


def read_message(message: dict[str, Any], status: int, headers: Any) -> Reply:
    """An answer of the provider as a reply; one without a stop reason was cut off on its way."""
    stop = message.get("stop_reason")
    if stop is not None and not isinstance(stop, str):
        raise TypeError("The answer's stop reason is not text.")
    blocks = message.get("content") or []
    text = "".join(block.get("text", "") for block in blocks if block.get("type") == "text")
    if stop is None:
        outcome, problem = Outcome.NETWORK, "The answer broke off before its end."
    else:
        outcome = STOPS.get(stop, Outcome.UNKNOWN)
        problem = {
            Outcome.OK: "",
            Outcome.TRUNCATED: f"Cut off: {stop}.",
            Outcome.REFUSED: "The model declined to answer.",
        }.get(outcome, f"Stopped for {stop}.")
    return Reply(
        outcome=outcome,
        problem=problem,
        text=text,
        stop_reason=stop or "",
        usage=read_usage(message["usage"]) if stop is not None else None,
        status=status,
        request_id=headers.get("request-id", ""),
        told=read_limits(headers),
    )


def read_usage(usage: dict[str, Any]) -> Usage:
    """Tokens by kind; writes to the cache are told apart by lifetime where the answer does."""
    written = _tokens(usage.get("cache_creation_input_tokens") or 0)
    detail = usage.get("cache_creation") or {}
    hour = min(written, _tokens(detail.get("ephemeral_1h_input_tokens") or 0))
    return Usage(
        input=_tokens(usage["input_tokens"]),
        output=_tokens(usage["output_tokens"]),
        cache_write_5m=written - hour,
        cache_write_1h=hour,
        cache_read=_tokens(usage.get("cache_read_input_tokens") or 0),
    )


def _tokens(count: Any) -> int:
    """A count of tokens that can be one. What stands between us and the provider may say anything,
    and a number that no column takes would spoil the record of other calls."""
    if not isinstance(count, int) or not 0 <= count <= MOST_TOKENS:
        raise ValueError(f"The answer counts {count!r:.40} tokens.")
    return count


def reply_to(error: Exception) -> Reply:
    """What an exception of the SDK means. An error answer is not billed; a connection that broke
    after the request went out may be."""
    if not isinstance(error, anthropic.APIStatusError):
        return _broken(error)
    headers = error.response.headers
    outcome = _outcome_of(error)
    return Reply(
        outcome=outcome,
        problem=_says(error),
        usage=NOTHING if error.status_code >= 400 else None,
        status=error.status_code,
        request_id=error.request_id or "",
        retry_after=_seconds(headers.get("retry-after")),
        told=read_limits(headers, limited=outcome is Outcome.RATE_LIMITED),
    )


def read_limits(headers: Any, *, limited: bool = False) -> Told:
    """What the rate-limit headers say, if there are any."""
    found = {
        kind: _number(headers.get(f"anthropic-ratelimit-{kind}-limit"))
        for kind in ("requests", "input-tokens", "output-tokens")
    }
    exhausted = None
    if limited and any(found.values()):
        remaining = [
            _number(headers.get(f"anthropic-ratelimit-{kind}-remaining"))
            for kind, limit in found.items()
            if limit
        ]
        # A limit counts as used up when less than a hundredth of it is left: a large request may
        # find a little, and not enough.
        exhausted = any(
            left is not None and left <= limit / 100
            for left, limit in zip(remaining, [n for n in found.values() if n], strict=True)
        )
    return Told(found["requests"], found["input-tokens"], found["output-tokens"], exhausted)


def _outcome_of(error: anthropic.APIStatusError) -> Outcome:
    status, code = error.status_code, _code(error)
    by_status = {
        401: Outcome.UNAUTHORISED,
        402: Outcome.SPEND_CAP,
        403: Outcome.UNAUTHORISED,
        404: Outcome.UNAUTHORISED,
        408: Outcome.SERVER,
        409: Outcome.SERVER,
        529: Outcome.OVERLOADED,
    }
    if code in SPEND_CODES or (status == 400 and "API usage limits" in _says(error)):
        return Outcome.SPEND_CAP
    if status == 429:
        return Outcome.RATE_LIMITED
    if status in by_status:
        return by_status[status]
    if 400 <= status < 500:
        return Outcome.INVALID
    if status >= 500:
        return Outcome.SERVER
    # An error event in the middle of a stream that had begun with 200.
    return Outcome.OVERLOADED if error.type == "overloaded_error" else Outcome.SERVER


def _broken(error: Exception) -> Reply:
    if isinstance(error, anthropic.APITimeoutError):
        return Reply(Outcome.TIMEOUT, "The connection timed out.")
    if isinstance(
        error, anthropic.APIConnectionError | httpx2.HTTPError | aiohttp.ClientError | OSError
    ):
        usage = NOTHING if _never_sent(error) else None
        return Reply(Outcome.NETWORK, f"The connection failed: {_cause(error)}.", usage=usage)
    return Reply(Outcome.UNKNOWN, f"{type(error).__name__}: {error}"[:300])


def _never_sent(error: BaseException | None) -> bool:
    """Whether no connection came about. The transport calls one that broke a ConnectError too, so
    only aiohttp's own error, which it came from, tells."""
    while error is not None and not isinstance(error, aiohttp.ClientConnectorError):
        error = error.__cause__
    return error is not None


def _cause(error: Exception) -> str:
    return (str(error.__cause__ or error) or type(error.__cause__ or error).__name__).rstrip(".")


def _says(error: anthropic.APIStatusError) -> str:
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error")
    message = inner.get("message") if isinstance(inner, dict) else None
    return f"{error.status_code}: {message or error.message}"[:300]


def _code(error: anthropic.APIStatusError) -> str | None:
    code = getattr(error, "error_code", None)
    if code is None:
        details = getattr(error, "details", None)
        code = details.get("error_code") if isinstance(details, dict) else None
    return code


def _number(text: str | None) -> int | None:
    """A count of a header. Gateways say "unlimited" with the largest number that they know, which
    is more than a column takes."""
    if not text or not (text.isascii() and text.isdigit()):
        return None
    return min(int(text[:20]), MOST_A_MINUTE)


def _seconds(text: str | None) -> float | None:
    """How long to wait, told in seconds or as a date; an hour at the most, since what is longer
    can as well be asked again."""
    try:
        told = float(text) if text else math.nan
    except ValueError:
        told = _seconds_until(text or "")
    return None if math.isnan(told) else min(max(0.0, told), LONGEST_WAIT_SECONDS)


def _seconds_until(date: str) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return math.nan
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime.now(UTC)).total_seconds()
