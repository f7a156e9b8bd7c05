"""Errors in the provider's shape."""

import json


class ProviderError(Exception):
    """An answer other than 200. `retry_after` is in whole seconds."""

    def __init__(
        self,
        status: int,
        type: str,
        message: str,
        *,
        error_code: str | None = None,
        retry_after: int | None = None,
        fault: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.message = message
        self.error_code = error_code
        self.retry_after = retry_after
        self.fault = fault

    def wire(self, request_id: str) -> dict[str, object]:
        error: dict[str, object] = {"type": self.type, "message": self.message}
        if self.error_code is not None:
            error["details"] = {"error_code": self.error_code}
        return {"type": "error", "error": error, "request_id": request_id}

    def body(self, request_id: str) -> bytes:
        return json.dumps(self.wire(request_id)).encode()


def invalid(message: str) -> ProviderError:
    return ProviderError(400, "invalid_request_error", message)


def not_found(message: str) -> ProviderError:
    return ProviderError(404, "not_found_error", message)


def unauthenticated() -> ProviderError:
    return ProviderError(401, "authentication_error", "x-api-key or Authorization is required")


def too_large(megabytes: int) -> ProviderError:
    return ProviderError(413, "request_too_large", f"Request exceeds {megabytes} MB")


def rate_limited(what: str, retry_after: int) -> ProviderError:
    message = f"This request would exceed your rate limit of {what}"
    return ProviderError(429, "rate_limit_error", message, retry_after=retry_after)


def spend_limit_reached() -> ProviderError:
    return ProviderError(
        429,
        "rate_limit_error",
        "Your organization has crossed the usage threshold of its API tier",
        error_code="enforced_spend_limit_reached",
    )


def ramp_limited(retry_after: int) -> ProviderError:
    return ProviderError(
        429,
        "rate_limit_error",
        "This request would exceed how fast your usage may grow",
        error_code="ramp_limit_exceeded",
        retry_after=retry_after,
    )
