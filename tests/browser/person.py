"""Somebody at a browser of their own."""

import re
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.watching import Watch

PASSWORD = "a long enough secret of mine"
DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}


class Person:
    """A context with one page, signed in or not. `page` has Playwright's own words for the rest."""

    def __init__(self, browser: Browser, home: str, name: str, **context: object) -> None:
        self.name = name
        self.home = home
        options = {"viewport": DESK, "reduced_motion": "reduce", "locale": "en-GB"} | context
        self.context: BrowserContext = browser.new_context(base_url=home, **options)
        self.context.set_default_timeout(15_000)
        self.watch = Watch(self.context, home)
        self.page: Page = self.context.new_page()

    def sign_in(self, password: str) -> None:
        """With a one-time password, which is replaced by `PASSWORD`, or with that."""
        page = self.page
        page.goto("/sign-in/")
        page.get_by_label("User name", exact=True).fill(self.name)
        page.get_by_label("Password", exact=True).fill(password)
        page.get_by_role("button", name="Sign in").click()
        if password == PASSWORD:
            return
        page.get_by_label("New password", exact=True).fill(PASSWORD)
        page.get_by_label(re.compile("(again|confirmation)", re.I)).fill(PASSWORD)
        page.get_by_role("button", name="Set password").click()
        expect(page.get_by_role("heading", name="Board")).to_be_visible()

    def add(self, name: str, *roles: str) -> str:
        """Make an account; returns its one-time password."""
        page = self.page
        page.goto("/people/")
        page.get_by_label("User name", exact=True).fill(name)
        for role in roles:
            page.get_by_role("checkbox", name=re.compile(f"^{role}")).check()
        page.get_by_role("button", name="Add and show the password").click()
        return page.locator("code.secret").inner_text()

    def card(self, batch: str) -> Locator:
        return self.page.locator(f"#card-{batch}")

    def column_of(self, batch: str, title: str) -> Locator:
        """The card where it stands in the column of that title."""
        column = self.page.get_by_role("region", name=re.compile(rf"^{title}\b"))
        return column.locator(f"#card-{batch}")

    def token(self) -> str:
        """The token that this person's own pages carry against forged requests."""
        return self.page.locator("#verb input[name=csrfmiddlewaretoken]").input_value()

    def picture(self, path: Path) -> None:
        self.page.screenshot(path=path, full_page=True)
