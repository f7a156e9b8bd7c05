"""What a page must never do, whatever a test does with it."""

import re
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page, Request, WebError

SILENT = {"data", "blob", "about", "chrome"}
REPLACED = re.compile(r"^htmx:(sendAbort|afterRequest),")
"""What htmx says, as an error, of a request that a newer one of the same part replaced."""


class Watch:
    """Notes every dialog, error, violation of the content policy and request to another host, on
    every page of a context."""

    def __init__(self, context: BrowserContext, home: str) -> None:
        self._home = urlsplit(home).netloc
        self._expected: list[re.Pattern[str]] = []
        self._problems: list[str] = []
        self._left: set[Page | None] = set()
        context.on("page", self._follow)
        context.on("request", self._asked)
        context.on("dialog", self._asks)
        context.on("console", self._said)
        context.on("weberror", self._failed)

    def expect(self, pattern: str) -> None:
        """Something that this test brings about by itself."""
        self._expected.append(re.compile(pattern))

    def leave(self, page: Page) -> None:
        """Note nothing more of this page."""
        self._left.add(page)

    @property
    def problems(self) -> list[str]:
        """All but the expected ones."""
        return [one for one in self._problems if not any(e.search(one) for e in self._expected)]

    def _follow(self, page: Page) -> None:
        page.on("crash", lambda _: self._note(f"crashed: {page.url}"))

    def _asked(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in SILENT and address.netloc != self._home:
            self._note(f"request to another host: {request.url}")

    def _asks(self, dialog: Dialog) -> None:
        self._note(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _said(self, message: ConsoleMessage) -> None:
        if message.page in self._left or message.type not in {"error", "warning"}:
            return
        if not REPLACED.match(message.text):
            self._note(f"console: {message.text} ({message.location.get('url')})")

    def _failed(self, error: WebError) -> None:
        if error.page not in self._left:
            self._note(f"script error: {error.error}")

    def _note(self, problem: str) -> None:
        self._problems.append(problem)
