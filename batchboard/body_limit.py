"""A bound on what a request may bring, before anything of it is read.

Django stores a body on disk before it looks at who sends it and where to, so without a bound
anybody could fill the disk.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]


class BodyLimit:
    """Answers 413 where a body says that it is too large; one that turns out to be is cut off."""

    def __init__(self, app: App, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif _declared(scope) > self._most:
            await _refuse(send)
        else:
            await self._app(scope, _Counted(receive, self._most), send)


class _Counted:
    """Receives until too much came; then it is as if the browser had gone."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = most

    async def __call__(self) -> Message:
        if self._left < 0:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        return message if self._left >= 0 else {"type": "http.disconnect"}


def _declared(scope: MutableMapping[str, Any]) -> int:
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    return max((int(value) for value in lengths if value.isdigit()), default=0)


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    said = "This is too large. Nothing was stored."
    await send({"type": "http.response.body", "body": said.encode()})
