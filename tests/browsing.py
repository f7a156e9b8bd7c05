"""A signed-in session with an installation, and a Chromium that uses it."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

from tests.acceptance.installation import Installation
from tests.servers import find

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
SESSION = """
import json
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from batchboard.models import User
user = User.objects.get(username={name!r})
User.objects.filter(pk=user.pk).update(must_change_password=False)
session = SessionStore()
session[SESSION_KEY] = str(user.pk)
session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
session[HASH_SESSION_KEY] = user.get_session_auth_hash()
session.save()
print("SESSION", json.dumps({{settings.SESSION_COOKIE_NAME: session.session_key}}))
"""


def signed_in(bb: Installation, name: str = "admin") -> dict[str, str]:
    """The cookies of a session of that person, made without the page that signs in."""
    output = bb.run("shell", "-c", SESSION.format(name=name))
    found = re.search(r"^SESSION (.*)$", output, re.M)
    assert found, output
    return json.loads(found[1])


@contextmanager
def chromium(bb: Installation, cookies: dict[str, str], **context: object) -> Iterator[Page]:
    """A page of Debian's Chromium in that session."""
    address = f"http://127.0.0.1:{bb.port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find("chromium"), args=ARGUMENTS)
        try:
            made = browser.new_context(**context)
            made.add_cookies([
                {"name": name, "value": value, "url": address} for name, value in cookies.items()
            ])  # fmt: skip
            yield made.new_page()
        finally:
            browser.close()
