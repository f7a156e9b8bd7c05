"""A browser that somebody signed in from before, as a signed cookie tells.

Its failed tries have a count of their own, so that whoever tries a name from elsewhere cannot make
its owner wait. The cookie opens nothing: a password is asked for as ever.
"""

import secrets
from hashlib import sha256

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

COOKIE = "batchboard_device"
SALT = "batchboard.device"
KEPT_SECONDS = 365 * 24 * 3600
MOST_NAMES = 8


def device_of(request: HttpRequest | None, username: str) -> str:
    """What tells this browser from all others for `username`, or "" where nobody of that name
    signed in from it."""
    identity, names = _read(request)
    return f"{identity} {_digest(username)}" if _digest(username) in names else ""


def remember(request: HttpRequest, response: HttpResponse, username: str) -> None:
    """Note in the browser that `username` signed in from it just now."""
    identity, names = _read(request)
    mine = _digest(username)
    names = [mine, *(name for name in names if name != mine)][:MOST_NAMES]
    response.set_cookie(
        COOKIE,
        signing.dumps([identity or secrets.token_urlsafe(16), names], salt=SALT),
        max_age=KEPT_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _read(request: HttpRequest | None) -> tuple[str, list[str]]:
    text = request.COOKIES.get(COOKIE, "") if request else ""
    try:
        identity, names = signing.loads(text, salt=SALT, max_age=KEPT_SECONDS)
    except (signing.BadSignature, ValueError):
        return "", []
    return identity, names


def _digest(username: str) -> str:
    return sha256(username.casefold().encode(errors="replace")).hexdigest()[:32]
