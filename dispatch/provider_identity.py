"""Which provider this process calls, so that what one said is not taken for another's word."""

from hashlib import sha256

from django.conf import settings


def provider_now() -> str:
    """A digest of address and key: neither can be read from it, and another of either gives
    another one."""
    address = settings.ANTHROPIC_BASE_URL or ""
    return sha256(f"{address}\0{settings.ANTHROPIC_API_KEY or ''}".encode()).hexdigest()
