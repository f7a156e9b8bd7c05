"""No request fills the disk, whoever sends it and wherever to."""

import asyncio
from typing import Any

import pytest

from batchboard.body_limit import BodyLimit

MOST = 100


async def echoing(scope: Any, receive: Any, send: Any) -> None:
    """Reads a whole body and says how long it was, or that the browser had gone."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            await send({"type": "gone", "size": size})
            return
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send({"type": "whole", "size": size})


def answered(parts: list[int], headers: list[tuple[bytes, bytes]] = []) -> list[Any]:  # noqa: B006
    sent: list[Any] = []
    waiting = [
        {"type": "http.request", "body": b"x" * size, "more_body": number < len(parts)}
        for number, size in enumerate(parts, start=1)
    ]

    async def receive() -> Any:
        return waiting.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": headers}
    asyncio.run(BodyLimit(echoing, MOST)(scope, receive, send))
    return sent


def test_a_body_within_the_bound_passes_whole() -> None:
    assert answered([60, 40]) == [{"type": "whole", "size": 100}]


def test_a_body_that_says_it_is_too_large_is_not_read() -> None:
    start, body = answered([], [(b"content-length", b"101")])
    assert start["status"] == 413
    assert b"too large" in body["body"]


@pytest.mark.parametrize("said", [b"5", b"-1", b"x"])
def test_a_body_that_turns_out_to_be_too_large_is_cut_off(said: bytes) -> None:
    assert answered([60, 41, 60], [(b"content-length", said)]) == [{"type": "gone", "size": 60}]
    assert answered([60, 41, 60]) == [{"type": "gone", "size": 60}]


def test_a_stream_goes_on_after_its_request_was_read() -> None:
    assert answered([0, 0, 100]) == [{"type": "whole", "size": 100}]
